package controllers

import (
	"context"
	"errors"
	"iter"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"triplane.dev/internal/worker"
)

// Catalogue holds the CRDs of the server. Those that do not preserve unknown fields may be without
// their schemas.
type Catalogue interface {
	// Get returns a CRD, nil where there is none.
	Get(name string) definition
	// All iterates over the CRDs.
	All() iter.Seq[definition]
	// Written enters a CRD whose status was written, before its event comes.
	Written(crd definition)
}

// Config is what a Controller works with.
type Config struct {
	// Catalogue calls Controller.Changed after each of its changes.
	Catalogue Catalogue
	// Write changes a CRD in storage, by the rules of its status, and returns it
	// as written. change is called with the present one, several times where
	// writers race; it may set the status and the metadata, whose parts it
	// replaces rather than changes. Its errors are returned.
	Write func(ctx context.Context, name string, change func(crd definition) error) (definition, error)
	// DeleteInstances deletes all objects of a CRD and returns when they are
	// gone.
	DeleteInstances func(ctx context.Context, crd definition) error
	// Go starts a goroutine that ends with its context.
	Go func(func(ctx context.Context))
}

// Controller looks after the CRDs of a server. Its methods belong to the
// goroutine that changes the catalogue.
type Controller struct {
	Config
	groups map[string]*group
	dirty  map[string]bool // names of CRDs to look after
	// decided are the CRDs as they will be once their status is written, by
	// name: they hold their names already.
	decided  map[string]definition
	deleting map[types.UID]bool
	finished chan types.UID
}

// New makes a controller.
func New(c Config) *Controller {
	return &Controller{
		Config: c, groups: map[string]*group{}, dirty: map[string]bool{}, decided: map[string]definition{},
		deleting: map[types.UID]bool{}, finished: make(chan types.UID, 16),
	}
}

// Changed takes a change of the catalogue. old is nil for a new CRD, crd for one
// that is gone.
func (c *Controller) Changed(old, crd definition) {
	if crd != nil {
		c.dirty[crd.Name] = true
		if next := c.decided[crd.Name]; next != nil {
			old = next
			delete(c.decided, crd.Name)
		}
	}
	c.replace(old, crd)
}

// replace replaces the names of a CRD, and enqueues the CRDs that wait for released names. Either may be nil.
func (c *Controller) replace(old, crd definition) {
	if c.enterGroup(old, crd) {
		c.wake(old.Spec.Group)
	}
}

// Reconcile brings the status of CRDs up to date after changes. When nothing has
// changed it takes up those that an earlier failure left.
func (c *Controller) Reconcile(ctx context.Context) {
	if len(c.dirty) == 0 && len(c.deleting) == 0 {
		c.findPending()
	}
	c.reconcile(ctx)
}

// findPending marks CRDs whose status says nothing yet, or that wait for their
// deletion.
func (c *Controller) findPending() {
	for crd := range c.Catalogue.All() {
		if len(crd.Status.Conditions) == 0 || crd.DeletionTimestamp != nil {
			c.dirty[crd.Name] = true
		}
	}
}

// writers is how many statuses are written at once.
const writers = 16

// reconcile updates the names and conditions of the enqueued CRDs, the oldest first, until none is left. After a failed
// write the rest waits for the next event: CRDs with conflicting names enqueue each other, and would not stop.
func (c *Controller) reconcile(ctx context.Context) {
	for len(c.dirty) > 0 && ctx.Err() == nil {
		failed := false
		for some := range slices.Chunk(c.nextDirty(), writers) {
			if !c.settle(ctx, some) {
				failed = true
			}
		}
		if failed {
			return
		}
	}
}

// write is a status on its way to storage.
type write struct {
	from, to, written definition
	err               error
}

// settle decides one CRD after the other, each knowing what names those before
// it have got, and writes what has changed at once. It reports whether all writes
// succeeded.
func (c *Controller) settle(ctx context.Context, crds []definition) bool {
	var writes []*write
	for _, crd := range crds {
		next := c.decide(crd)
		if next == crd {
			c.finalize(crd)
			continue
		}
		c.decided[crd.Name] = next
		writes = append(writes, &write{from: crd, to: next})
	}
	var all worker.Group
	for _, w := range writes {
		all.Go(func() {
			w.err = worker.Try(func() (err error) {
				w.written, err = c.Write(ctx, w.from.Name, w.change)
				return err
			})
		})
	}
	all.Wait()
	ok := true
	for _, w := range writes {
		if w.err != nil {
			ok = false
			c.undo(ctx, w)
			continue
		}
		c.Catalogue.Written(w.written)
		delete(c.dirty, w.written.Name)
		c.finalize(w.written)
	}
	return ok
}

// decide returns a CRD with the status that it shall have, itself if that is the one it has,
// and has it hold its names. A name that it gets may stand in the way of another that it
// wants, such as a short name like the plural, so that it is asked again until nothing changes:
// a name that was accepted as wanted stays so.
func (c *Controller) decide(crd definition) definition {
	for {
		next := *crd
		next.Status = *crd.Status.DeepCopy()
		setNames(&next, c.groups[crd.Spec.Group].held)
		setApproval(&next)
		setStructural(&next)
		if equality.Semantic.DeepEqual(crd.Status, next.Status) {
			return crd
		}
		c.replace(crd, &next)
		crd = &next
	}
}

// change sets the status of the CRD that it was decided for.
func (w *write) change(crd definition) error {
	if crd.UID != w.from.UID || crd.ResourceVersion != w.from.ResourceVersion {
		return apierrors.NewConflict(apiextensionsv1.Resource("customresourcedefinitions"), crd.Name,
			errors.New("it has changed"))
	}
	crd.Status = *w.to.Status.DeepCopy()
	return nil
}

// undo gives back the names of a CRD whose status could not be written. Nobody is
// woken for them: whoever failed wants them still.
func (c *Controller) undo(ctx context.Context, w *write) {
	delete(c.decided, w.from.Name)
	c.enterGroup(w.to, w.from)
	// A conflict comes with an event that brings us back here.
	if !apierrors.IsConflict(w.err) && !apierrors.IsNotFound(w.err) && ctx.Err() == nil {
		klog.FromContext(ctx).Error(w.err, "The status of a custom resource definition cannot be written", "name",
			w.from.Name)
	}
	c.finalize(w.from)
}
