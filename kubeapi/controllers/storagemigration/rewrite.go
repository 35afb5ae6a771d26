package storagemigration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"triplane/internal/longwork"
	"triplane/internal/worker"
	"triplane/kubeapi/controllers/control"
)

const (
	// atOnce is how many objects are written at once.
	atOnce = 4
	// named is how many of the objects that cannot be written a message names, and
	// words how long what it says of each is.
	named, words = 3, 500
)

// refusals are the objects that cannot be written as they are; nil are none.
type refusals struct {
	count int
	first []string
}

func (r *refusals) message() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d objects cannot be written: %s", r.count, strings.Join(r.first, "; "))
}

// rewrite writes the objects of a resource again that have not been written since a
// revision of storage.
func (c *controller) rewrite(ctx context.Context, r *control.Resource, since int64) (*refusals, error) {
	var refused *refusals
	clock, seen := longwork.Start(longwork.Interval), 0
	err := c.env.Resources.Walk(ctx, r.GroupResource(), func(page []*control.Object) error {
		var (
			mu   sync.Mutex
			errs []error
			work worker.Group
		)
		slots := make(chan struct{}, atOnce)
		for _, o := range page {
			if o.Revision > since {
				continue
			}
			slots <- struct{}{}
			work.Go(func() {
				defer func() { <-slots }()
				err := c.write(ctx, r, o)
				mu.Lock()
				defer mu.Unlock()
				if isRefusal(err) {
					refused = refused.add(o, err)
				} else {
					errs = append(errs, err)
				}
			})
		}
		work.Wait()
		if seen += len(page); clock.Due() {
			klog.InfoS("Objects are written in their storage version", "resource", r.GroupResource(), "objects", seen)
		}
		return errors.Join(errs...)
	})
	return refused, err
}

func (r *refusals) add(o *control.Object, err error) *refusals {
	if r == nil {
		r = &refusals{}
	}
	if r.count++; len(r.first) < named {
		text := err.Error()
		if len(text) > words {
			text = strings.ToValidUTF8(text[:words], "") + "…"
		}
		r.first = append(r.first, strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")+": "+text)
	}
	return r
}

// write patches nothing but what an object is anyway, on the condition that it is
// what was read. One that has changed, or is gone, need not be written.
func (c *controller) write(ctx context.Context, r *control.Resource, o *control.Object) error {
	body := `{"metadata":{"resourceVersion":"` + strconv.FormatInt(o.Revision, 10) + `"}}`
	_, err := c.objects.Resource(r.GroupVersionResource).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// isRefusal reports whether a request would fail again.
func isRefusal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError &&
		code != http.StatusTooManyRequests && code != http.StatusRequestTimeout && code != http.StatusUnauthorized
}
