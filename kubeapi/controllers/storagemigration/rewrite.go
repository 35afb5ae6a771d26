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

	"triplane.dev/internal/longwork"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
)

const (
	// atOnce is how many objects are written concurrently.
	atOnce = 4
	// named is how many rejected objects a message contains, and words bounds the length of each error.
	named, words = 3, 500
)

// rejections are the objects that cannot be written; nil means none.
type rejections struct {
	count int
	first []string
}

func (r *rejections) message() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%d objects cannot be written: %s", r.count, strings.Join(r.first, "; "))
}

// rewrite rewrites the objects of a resource that have not been written since a storage revision.
func (c *controller) rewrite(ctx context.Context, r *control.Resource, since int64) (*rejections, error) {
	var rejected *rejections
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
				if isPermanent(err) {
					rejected = rejected.add(o, err)
				} else {
					errs = append(errs, err)
				}
			})
		}
		work.Wait()
		if seen += len(page); clock.Due() {
			klog.InfoS("Rewriting objects in their storage version", "resource", r.GroupResource(), "objects", seen)
		}
		return errors.Join(errs...)
	})
	return rejected, err
}

func (r *rejections) add(o *control.Object, err error) *rejections {
	if r == nil {
		r = &rejections{}
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

// write sends an empty patch of an object, with its resource version as a precondition. Objects that have changed
// or were deleted need no rewrite.
func (c *controller) write(ctx context.Context, r *control.Resource, o *control.Object) error {
	body := `{"metadata":{"resourceVersion":"` + strconv.FormatInt(o.Revision, 10) + `"}}`
	_, err := c.objects.Resource(r.GroupVersionResource).Namespace(o.Namespace).Patch(ctx, o.Name,
		types.MergePatchType, []byte(body), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// isPermanent reports whether retrying a request is useless.
func isPermanent(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError &&
		code != http.StatusTooManyRequests && code != http.StatusRequestTimeout && code != http.StatusUnauthorized
}
