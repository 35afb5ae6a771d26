package flowcontrol

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/group"
)

// ConsumerHook is the name of the hook that starts a Consumer.
const ConsumerHook = "priority-and-fairness-config-consumer"

// retryAfter is how long after a failure the consumer tries again.
const retryAfter = time.Second

// Consumer follows flow schemas and priority levels, applies them, and reports
// in each schema's condition Dangling whether its level exists. Several replicas come to the same
// result, so that they do not disturb each other; where another writer disagrees, each condition is
// written a few times a minute only.
type Consumer struct {
	schemas *registry.Store[*flowv1.FlowSchema]
	levels  *registry.Store[*flowv1.PriorityLevelConfiguration]
	now     func() time.Time
	written pace
	// inForce takes over what there is; nil where requests are not queued.
	inForce func([]*flowv1.FlowSchema, []*flowv1.PriorityLevelConfiguration)
}

// NewConsumer finds the storage of the two kinds. inForce, where not nil, is called
// with all objects when they are known and after each change.
func NewConsumer(stores *group.Stores, inForce func([]*flowv1.FlowSchema,
	[]*flowv1.PriorityLevelConfiguration)) (*Consumer, error) {
	c := &Consumer{now: time.Now, written: pace{}, inForce: inForce}
	if c.schemas = group.StoreOf(group.FlowSchemas(stores)); c.schemas == nil {
		return nil, errors.New("no storage of flow schemas")
	}
	if c.levels = group.StoreOf(group.PriorityLevelConfigurations(stores)); c.levels == nil {
		return nil, errors.New("no storage of priority levels")
	}
	return c, nil
}

// Run follows the objects until the context ends.
func (c *Consumer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := c.follow(ctx); err != nil && ctx.Err() == nil {
			klog.V(2).InfoS("Flow schemas are listed again", "reason", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// known is what the consumer has seen.
type known struct {
	mu      sync.Mutex
	schemas map[string]*flowv1.FlowSchema
	levels  map[string]*flowv1.PriorityLevelConfiguration
	pending int // kinds whose objects are not all known yet
	changed chan struct{}
}

// follow watches both kinds until a watch ends.
func (c *Consumer) follow(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	k := &known{schemas: map[string]*flowv1.FlowSchema{}, levels: map[string]*flowv1.PriorityLevelConfiguration{},
		pending: 2, changed: make(chan struct{}, 1)}
	var pumps worker.Group
	pumps.Go(func() { stop(worker.Try(func() error { return pump(ctx, c.schemas, k, k.schemas) })) })
	pumps.Go(func() { stop(worker.Try(func() error { return pump(ctx, c.levels, k, k.levels) })) })
	defer pumps.Wait()
	defer stop(nil)
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-k.changed:
		case <-retry:
		}
		retry = nil
		c.putInForce(k)
		wait, err := c.reconcile(ctx, k)
		if err != nil && ctx.Err() == nil {
			klog.V(2).InfoS("Conditions of flow schemas could not be written", "err", err)
			wait = retryAfter
		}
		if wait > 0 {
			retry = time.After(wait)
		}
	}
}

func (c *Consumer) putInForce(k *known) {
	if c.inForce == nil {
		return
	}
	k.mu.Lock()
	schemas, levels := slices.Collect(maps.Values(k.schemas)), slices.Collect(maps.Values(k.levels))
	k.mu.Unlock()
	c.inForce(schemas, levels)
}

// pump keeps a map up to date with the objects of a kind, until its watch ends.
func pump[T kind.Object](ctx context.Context, store *registry.Store[T], k *known, into map[string]T) error {
	initial := true
	stream, err := store.Watch(ctx, &metainternalversion.ListOptions{
		AllowWatchBookmarks: true, SendInitialEvents: &initial, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		return err
	}
	defer stream.Stop()
	for {
		events, err := stream.Next(ctx)
		if err != nil {
			return err
		}
		if err := note(events, k, into); err != nil {
			return err
		}
	}
}

func note[T kind.Object](events []rest.Event, k *known, into map[string]T) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range events {
		if m, ok := e.Object.(metav1.Object); ok && e.Type == watch.Bookmark {
			if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				k.pending--
			}
			continue
		}
		st, ok := e.Object.(rest.Stored)
		if !ok {
			return errors.New("the watch ended with an error")
		}
		obj, err := st.Decode()
		if err != nil {
			klog.V(2).InfoS("An object of flow control cannot be read", "err", err)
			continue
		}
		typed, ok := obj.(T)
		if !ok {
			continue
		}
		if e.Type == watch.Deleted {
			delete(into, typed.GetName())
		} else {
			into[typed.GetName()] = typed
		}
	}
	if k.pending == 0 {
		select {
		case k.changed <- struct{}{}:
		default:
		}
	}
	return nil
}

// reconcile writes the conditions that are not as they should be, and returns how long the first of those
// has to wait that were written too often already.
func (c *Consumer) reconcile(ctx context.Context, k *known) (wait time.Duration, err error) {
	now := c.now()
	k.mu.Lock()
	wanted := map[string]flowv1.FlowSchemaCondition{}
	for name, f := range k.schemas {
		level := f.Spec.PriorityLevelConfiguration.Name
		_, exists := k.levels[level]
		want := dangling(level, exists)
		if sameCondition(f.Status.Conditions, want) {
			continue
		}
		if later := c.written.next(name, now); later == 0 {
			wanted[name] = want
		} else if wait == 0 || later < wait {
			wait = later
		}
	}
	c.written.expire(now)
	k.mu.Unlock()
	var errs []error
	for name, want := range wanted {
		errs = append(errs, c.write(ctx, name, want))
	}
	return wait, errors.Join(errs...)
}
