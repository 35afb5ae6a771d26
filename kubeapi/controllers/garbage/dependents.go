package garbage

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"triplane.dev/internal/worker"
)

// finishForeground removes the finalizer of an object whose blocking dependents were deleted.
func (c *controller) finishForeground(ctx context.Context, it *item) error {
	if it.blocked {
		return nil // the deletion of the last blocking dependent enqueues it
	}
	return c.dropFinalizer(ctx, it, metav1.FinalizerDeleteDependents)
}

// orphan removes references to an owner from all its dependents, and then its finalizer.
func (c *controller) orphan(ctx context.Context, id ident) error {
	it := c.graph.look(id)
	if it == nil || !it.deleting || !it.node.orphan {
		return nil
	}
	if err := c.orphanAll(ctx, c.graph.dependentsOf(id), id.uid); err != nil {
		return err
	}
	return c.dropFinalizer(ctx, it, metav1.FinalizerOrphanDependents)
}

func (g *graph) dependentsOf(id ident) []ident {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[id]
	if n == nil {
		return nil
	}
	out := make([]ident, 0, len(n.dependents))
	for d := range n.dependents {
		if d.state == present {
			out = append(out, d.id)
		}
	}
	return out
}

// atOnce is how many dependents of an object are orphaned concurrently.
const atOnce = 16

func (c *controller) orphanAll(ctx context.Context, dependents []ident, owner types.UID) error {
	var (
		mu   sync.Mutex
		errs []error
		work worker.Group
	)
	slots := make(chan struct{}, atOnce)
	for _, id := range dependents {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			it := c.graph.look(id)
			if it == nil {
				return
			}
			if err := c.dropOwners(ctx, it, []types.UID{owner}); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	work.Wait()
	return errors.Join(errs...)
}

// dropOwners removes references from an object.
func (c *controller) dropOwners(ctx context.Context, it *item, owners []types.UID) error {
	drop := sets.New(owners...)
	return c.change(ctx, it, func(m *metav1.PartialObjectMetadata) bool {
		n := len(m.OwnerReferences)
		m.OwnerReferences = slices.DeleteFunc(m.OwnerReferences,
			func(r metav1.OwnerReference) bool { return drop.Has(r.UID) })
		return len(m.OwnerReferences) != n
	})
}

// unblock sets blockOwnerDeletion to false in an object's references.
func (c *controller) unblock(ctx context.Context, it *item) error {
	return c.change(ctx, it, func(m *metav1.PartialObjectMetadata) bool {
		changed := false
		for i := range m.OwnerReferences {
			if b := m.OwnerReferences[i].BlockOwnerDeletion; b != nil && *b {
				no := false
				m.OwnerReferences[i].BlockOwnerDeletion, changed = &no, true
			}
		}
		return changed
	})
}

func (c *controller) dropFinalizer(ctx context.Context, it *item, finalizer string) error {
	return c.change(ctx, it, func(m *metav1.PartialObjectMetadata) bool {
		n := len(m.Finalizers)
		m.Finalizers = slices.DeleteFunc(m.Finalizers, func(f string) bool { return f == finalizer })
		return len(m.Finalizers) != n
	})
}

// changeAttempts is how often a change is retried after conflicts before it is re-queued.
const changeAttempts = 5

// change patches the owners and finalizers of the current object.
func (c *controller) change(ctx context.Context, it *item, edit func(*metav1.PartialObjectMetadata) bool) error {
	objects, err := c.objects(it.resource, it.namespace)
	if err != nil {
		return err
	}
	for range changeAttempts {
		var now *metav1.PartialObjectMetadata
		if now, err = objects.Get(ctx, it.name, metav1.GetOptions{}); err != nil {
			break
		}
		finalizers := len(now.Finalizers)
		if now.UID != it.id.uid || !edit(now) {
			return nil
		}
		patch := map[string]any{"uid": now.UID, "resourceVersion": now.ResourceVersion}
		if len(now.Finalizers) != finalizers {
			patch["finalizers"] = now.Finalizers
		} else {
			patch["ownerReferences"] = now.OwnerReferences
		}
		var body []byte
		if body, err = json.Marshal(map[string]any{"metadata": patch}); err != nil {
			return err
		}
		if _, err = objects.Patch(ctx, it.name, types.MergePatchType, body,
			metav1.PatchOptions{}); !apierrors.IsConflict(err) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
