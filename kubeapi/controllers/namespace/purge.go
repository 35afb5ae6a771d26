package namespace

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/metadata"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

// purge is one attempt to empty a namespace.
type purge struct {
	// unavailable are the versions whose resources are unknown.
	unavailable []schema.GroupVersion

	mu         sync.Mutex
	errs       []error
	remaining  map[schema.GroupVersionResource]int
	finalizers map[string]int
	grace      time.Duration // the longest remaining grace period of an object
}

// atOnce is how many resources of a namespace are deleted concurrently.
const atOnce = 8

// purge deletes everything in a namespace. Pods come first, so that none of them runs without the policies that
// restrict it (KEP-5080).
func (c *controller) purge(ctx context.Context, name string) *purge {
	p := &purge{
		unavailable: c.env.Resources.Unavailable(),
		remaining:   map[schema.GroupVersionResource]int{}, finalizers: map[string]int{},
	}
	if r, ok := c.env.Resources.Find(group.Pods(c.env.Stores).Resource()); ok {
		p.failed(c.purgeResource(ctx, p, &r, name))
	}
	if p.remains() || len(p.errs) > 0 {
		return p
	}
	var work worker.Group
	slots := make(chan struct{}, atOnce)
	for _, r := range c.env.Resources.All() {
		if !r.Namespaced || !r.Can("delete") {
			continue
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			p.failed(c.purgeResource(ctx, p, &r, name))
		})
	}
	work.Wait()
	return p
}

func (p *purge) failed(err error) {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.errs = append(p.errs, err)
	}
}

// purgeResource deletes the objects of a resource, and records what remains.
func (c *controller) purgeResource(ctx context.Context, p *purge, r *control.Resource, namespace string) error {
	if !r.External {
		n, err := c.env.Resources.Count(ctx, r.GroupResource(), namespace)
		if err != nil || n == 0 {
			return err
		}
	}
	objects := c.metadata.Resource(r.GroupVersionResource).Namespace(namespace)
	if err := c.deleteAll(ctx, objects, r); err != nil {
		return err
	}
	if !r.Can("list") {
		return nil
	}
	if !r.External {
		n, err := c.env.Resources.Count(ctx, r.GroupResource(), namespace)
		if err != nil || n == 0 {
			return err
		}
	}
	left, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return ignoreUnserved(err)
	}
	p.note(r.GroupVersionResource, left)
	return nil
}

// deleteAll deletes a collection, or each object if the resource or its server does not support that.
func (c *controller) deleteAll(ctx context.Context, objects metadata.ResourceInterface, r *control.Resource) error {
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if r.Can("deletecollection") {
		err := objects.DeleteCollection(ctx, options, metav1.ListOptions{})
		if !apierrors.IsMethodNotSupported(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if !r.Can("list") {
		return nil
	}
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return ignoreUnserved(err)
	}
	for i := range list.Items {
		err := objects.Delete(ctx, list.Items[i].Name, options)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsMethodNotSupported(err) {
			return err
		}
	}
	return nil
}

// ignoreUnserved ignores errors of resources that are no longer served.
func ignoreUnserved(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil
	}
	return err
}

// note records what remains of a resource.
func (p *purge) note(r schema.GroupVersionResource, left *metav1.PartialObjectMetadataList) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(left.Items); n > 0 {
		p.remaining[r] = n
	}
	for i := range left.Items {
		o := &left.Items[i]
		for _, f := range o.Finalizers {
			p.finalizers[f]++
		}
		if g := o.DeletionGracePeriodSeconds; g != nil {
			p.grace = max(p.grace, time.Duration(*g)*time.Second)
		}
	}
}

func (p *purge) remains() bool { return len(p.remaining) > 0 }

// failure returns why the namespace could not be emptied.
func (p *purge) failure() error {
	if len(p.unavailable) > 0 {
		return errors.Join(append([]error{errors.New(p.discoveryMessage())}, p.errs...)...)
	}
	return utilerrors.NewAggregate(p.errs)
}

func (p *purge) discoveryMessage() string {
	text := ""
	for i, gv := range p.unavailable {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s: stale GroupVersion discovery: %s", gv, gv)
	}
	return fmt.Sprintf("Discovery failed for some groups, %d failing: unable to retrieve the complete list of "+
		"server APIs: %s", len(p.unavailable), text)
}
