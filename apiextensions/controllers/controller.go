package controllers

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"triplane/generic/storage"
)

// Client writes the status of CRDs.
type Client interface {
	UpdateStatus(ctx context.Context, crd definition, opts metav1.UpdateOptions) (definition, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (definition, error)
}

// Config is what a Controller works with.
type Config struct {
	// Watch starts a watch of all CRDs, the present ones first.
	Watch  func(ctx context.Context) (storage.Watch, error)
	Decode func(value []byte) (definition, error)
	Client Client
	// Changed and Removed are told of every CRD, in order, before its status is
	// looked after.
	Changed func(crd definition)
	Removed func(crd definition)
	// Synced is called once, when all CRDs that existed at the start were told.
	Synced func()
	// DeleteInstances deletes all objects of a CRD and returns when they are
	// gone.
	DeleteInstances func(ctx context.Context, crd definition) error
	// Go starts a goroutine that ends with its context.
	Go func(func(ctx context.Context))
}

// Controller looks after the CRDs of a server. Its methods belong to the
// goroutine of Run.
type Controller struct {
	Config
	known    map[string]definition
	groups   map[string]*group
	dirty    map[string]bool // names of CRDs to look after
	synced   bool
	deleting map[types.UID]bool
	finished chan types.UID
}

// New makes a controller.
func New(c Config) *Controller {
	return &Controller{
		Config: c, known: map[string]definition{}, groups: map[string]*group{}, dirty: map[string]bool{},
		deleting: map[types.UID]bool{}, finished: make(chan types.UID, 16),
	}
}

// retryDelay is waited after a watch that failed at once.
const retryDelay = 100 * time.Millisecond

// Run works until the context ends.
func (c *Controller) Run(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		err := c.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, storage.ErrStopped) && !errors.Is(err, storage.ErrTooSlow) {
			klog.FromContext(ctx).Error(err, "Watching the custom resource definitions failed, starting anew")
		}
		if time.Since(began) < retryDelay {
			select {
			case <-ctx.Done():
			case <-time.After(retryDelay):
			}
		}
	}
}

// follow takes the changes of one watch.
func (c *Controller) follow(ctx context.Context) error {
	w, err := c.Watch(ctx)
	if err != nil {
		return err
	}
	defer w.Stop()
	initial := map[string]bool{}
	for {
		events, err := w.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			if e.Type == storage.Bookmark {
				if e.InitialEventsEnd {
					c.forgetOthers(initial)
					initial = nil
					c.start()
				}
				continue
			}
			if crd := c.take(ctx, e); crd != nil && initial != nil {
				initial[crd.Name] = true
			}
		}
		if !c.synced {
			continue // the names of those not seen yet count too
		}
		if initial == nil && len(c.dirty) == 0 && len(c.deleting) == 0 {
			c.findPending()
		}
		c.reconcile(ctx)
	}
}

// findPending marks CRDs whose status says nothing yet, for the moment after the
// start.
func (c *Controller) findPending() {
	for name, crd := range c.known {
		if len(crd.Status.Conditions) == 0 || crd.DeletionTimestamp != nil {
			c.dirty[name] = true
		}
	}
}

func (c *Controller) start() {
	if !c.synced {
		c.synced = true
		c.Synced()
	}
}

// forgetOthers removes what a new watch no longer shows.
func (c *Controller) forgetOthers(present map[string]bool) {
	if present == nil {
		return
	}
	for name, crd := range c.known {
		if !present[name] {
			c.forget(crd)
		}
	}
}

func (c *Controller) forget(crd definition) {
	if old := c.known[crd.Name]; old != nil {
		delete(c.known, crd.Name)
		c.enterGroup(old, nil)
		c.wake(old.Spec.Group)
	}
	c.Removed(crd)
}

// take enters an event; it returns the CRD, nil for nonsense.
func (c *Controller) take(ctx context.Context, e *storage.Event) definition {
	crd, err := c.Decode(e.Record.Value)
	if err != nil {
		klog.FromContext(ctx).Error(err, "A stored custom resource definition cannot be read", "key", e.Record.Key)
		return nil
	}
	if e.Type == storage.Deleted {
		c.forget(crd)
		return crd
	}
	crd.ResourceVersion = strconv.FormatInt(e.Record.Revision, 10)
	if old := c.known[crd.Name]; old != nil && newer(old, crd) {
		return old // what was written here is known before its event
	}
	c.enter(crd)
	return crd
}

func newer(a, b definition) bool {
	x, errX := strconv.ParseInt(a.ResourceVersion, 10, 64)
	y, errY := strconv.ParseInt(b.ResourceVersion, 10, 64)
	return errX == nil && errY == nil && a.UID == b.UID && x >= y
}

func (c *Controller) enter(crd definition) {
	old := c.known[crd.Name]
	c.known[crd.Name] = crd
	c.dirty[crd.Name] = true
	if c.enterGroup(old, crd) {
		c.wake(old.Spec.Group)
	}
	c.Changed(crd)
}

// writers is how many statuses are written at once.
const writers = 16

// reconcile settles the names of CRDs, the eldest first, and all else that
// status says, until nothing is left to do. When a write fails, what is left
// waits for the next event: those whose names are in doubt wake each other, and
// would do so for ever on what is known here.
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
// it have got, and writes what has changed at once. ok tells that all writes
// succeeded.
func (c *Controller) settle(ctx context.Context, crds []definition) (ok bool) {
	var writes []*write
	for _, crd := range crds {
		next := crd.DeepCopy()
		setNames(next, c.groups[crd.Spec.Group].held)
		setApproval(next)
		setStructural(next)
		if equality.Semantic.DeepEqual(crd.Status, next.Status) {
			c.finalize(crd)
			continue
		}
		c.replace(crd, next)
		writes = append(writes, &write{from: crd, to: next})
	}
	var all sync.WaitGroup
	for _, w := range writes {
		all.Go(func() { w.written, w.err = c.Client.UpdateStatus(ctx, w.to, metav1.UpdateOptions{}) })
	}
	all.Wait()
	ok = true
	for _, w := range writes {
		if w.err == nil {
			c.enter(w.written)
			delete(c.dirty, w.written.Name)
			c.finalize(w.written)
			continue
		}
		ok = false
		// Nobody is woken for the names: whoever failed wants them still.
		c.known[w.from.Name] = w.from
		c.enterGroup(w.to, w.from)
		// A conflict comes with an event that brings us back here.
		if !apierrors.IsConflict(w.err) && !apierrors.IsNotFound(w.err) && ctx.Err() == nil {
			klog.FromContext(ctx).Error(w.err, "The status of a custom resource definition cannot be written", "name", w.from.Name)
		}
		c.finalize(w.from)
	}
	return ok
}

// replace puts a CRD in the place of another one with the same name.
func (c *Controller) replace(old, crd definition) {
	c.known[crd.Name] = crd
	if c.enterGroup(old, crd) {
		c.wake(old.Spec.Group)
	}
}
