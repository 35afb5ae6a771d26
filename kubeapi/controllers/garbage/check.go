package garbage

import (
	"context"
	"errors"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/kubeapi/controllers/control"
)

// item is a copy of an object's state in the graph.
type item struct {
	node   // its maps and slices are shared with the graph
	owners []owner
	// hasDependents is whether the object has dependents, dependentWaits whether one of them waits for its own
	// dependents.
	hasDependents, dependentWaits bool
	// blocked means that dependents must be deleted first.
	blocked bool
}

// owner is the state of an owner of an item.
type owner struct {
	id      ident
	state   state
	waits   bool
	invalid bool // a cluster-scoped object refers to a namespaced owner
	unknown bool // its kind is not served
}

// look returns the state of an object; nil if it is not present.
func (g *graph) look(id ident) *item {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[id]
	if n == nil || n.state != present {
		return nil
	}
	it := &item{node: *n, hasDependents: len(n.dependents) > 0, blocked: n.blocking > 0}
	for d := range n.dependents {
		if d.waits() {
			it.dependentWaits = true
			break
		}
	}
	it.owners = make([]owner, len(n.owners))
	for i, e := range n.owners {
		it.owners[i] = owner{
			id: e.owner.id, state: e.owner.state, waits: e.owner.waits(), unknown: e.owner.unknown(),
			invalid: len(e.owner.id.key) > 0 && e.owner.id.key[0] == invalidScope[0],
		}
	}
	return it
}

// check decides whether an object must be deleted.
func (c *controller) check(ctx context.Context, id ident) error {
	it := c.graph.look(id)
	switch {
	case it == nil || it.deleting && !it.waits():
		return nil
	case it.waits():
		return c.finishForeground(ctx, it)
	case len(it.owners) == 0:
		return nil
	}
	var solid bool
	var dangling, waiting []types.UID
	for i := range it.owners {
		o := &it.owners[i]
		if err := c.resolve(ctx, it, o); err != nil {
			return err
		}
		switch {
		case o.state == absent:
			dangling = append(dangling, o.id.uid)
		case o.waits:
			waiting = append(waiting, o.id.uid)
		default:
			solid = true
		}
	}
	switch {
	case solid && len(dangling)+len(waiting) == 0:
		return nil
	case solid:
		return c.dropOwners(ctx, it, append(dangling, waiting...))
	case len(waiting) > 0 && it.hasDependents:
		if it.dependentWaits { // circular dependents
			if err := c.unblock(ctx, it); err != nil {
				return err
			}
		}
		return c.delete(ctx, it, metav1.DeletePropagationForeground)
	}
	return c.delete(ctx, it, it.policy())
}

// policy returns the propagation policy in the object's finalizers.
func (it *item) policy() metav1.DeletionPropagation {
	switch {
	case it.orphan:
		return metav1.DeletePropagationOrphan
	case it.foreground:
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// resolve determines whether an owner exists.
func (c *controller) resolve(ctx context.Context, it *item, o *owner) error {
	switch {
	case o.unknown:
		return c.observeAgain(ctx, it)
	case o.invalid:
		c.warn(it, o, "a cluster-scoped object cannot have an owner in a namespace")
		o.state = present // its absence cannot be determined
		return nil
	case o.state != virtual:
		return nil
	}
	return c.read(ctx, it, o)
}

// errUnknownKind means that an owner's kind is not served.
var errUnknownKind = errors.New("the kind of an owner is not served")

// observeAgain resolves the owner references of an object, whose kinds may be served by now.
func (c *controller) observeAgain(ctx context.Context, it *item) error {
	m, version, err := c.live(ctx, it)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := range m.Owners {
		if _, ok := c.locate(&m.Owners[i], it.namespace); !ok {
			return control.Later("%v: %s %s", errUnknownKind, m.Owners[i].APIVersion, m.Owners[i].Kind)
		}
	}
	c.graph.observe(place{it.id.key, it.resource, it.namespace, it.name}, &m, version)
	return control.Later("the owners are resolved")
}

// read requests an owner.
func (c *controller) read(ctx context.Context, it *item, o *owner) error {
	at := c.graph.where(o.id)
	if at == nil {
		return control.Later("the owner has changed")
	}
	objects, err := c.objects(at.resource, at.namespace)
	if err != nil {
		return err
	}
	found, err := objects.Get(ctx, at.name, metav1.GetOptions{})
	switch {
	case isAbsent(err):
		o.state = absent
		if err := c.checkOtherNamespaces(ctx, it, o, at); err != nil {
			return err
		}
	case err != nil:
		return err
	case found.UID != o.id.uid:
		o.state = absent
	}
	if !c.graph.found(at, o.state != absent, found) {
		return control.Later("the owner has changed")
	}
	if o.state != absent {
		m := metaOf(found)
		o.state = present
		o.waits = m.Deleting && slices.Contains(m.Finalizers, metav1.FinalizerDeleteDependents)
	}
	return nil
}

// where returns a copy of a node; nil if it does not exist.
func (g *graph) where(id ident) *node {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.nodes[id]; n != nil {
		at := *n
		return &at
	}
	return nil
}

// found records the result of reading a node. It returns false if the node has changed since, so that the result
// is invalid.
func (g *graph) found(at *node, exists bool, obj *metav1.PartialObjectMetadata) bool {
	g.mu.Lock()
	n := g.nodes[at.id]
	if n == nil || n.changes != at.changes {
		g.mu.Unlock()
		return n != nil && (n.state == present) == exists
	}
	if !exists {
		g.markAbsent(n)
		g.mu.Unlock()
		return true
	}
	g.mu.Unlock()
	m := metaOf(obj)
	g.observe(place{at.id.key, at.resource, at.namespace, at.name}, &m, versionOf(obj))
	return true
}

// checkOtherNamespaces records an event if the owner exists in another namespace.
func (c *controller) checkOtherNamespaces(ctx context.Context, it *item, o *owner, at *node) error {
	if at.namespace == "" {
		return nil
	}
	objects, err := c.objects(at.resource, "")
	if err != nil {
		return err
	}
	list, err := objects.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + at.name, ResourceVersion: "0"})
	if err != nil {
		return nil //nolint:nilerr // the event is optional; the owner is absent in any case
	}
	for i := range list.Items {
		if list.Items[i].UID == o.id.uid {
			c.warn(it, o, "it is in namespace "+list.Items[i].Namespace)
			return nil
		}
	}
	return nil
}

// warn records an event for a reference to a namespace in which the owner cannot be.
func (c *controller) warn(it *item, o *owner, why string) {
	r, ok := c.env.Resources.Find(it.resource)
	if !ok {
		return
	}
	gvk := r.GroupVersion().WithKind(r.Kind)
	ref := &corev1.ObjectReference{Namespace: it.namespace, Name: it.name, UID: it.id.uid}
	ref.APIVersion, ref.Kind = gvk.ToAPIVersionAndKind()
	c.events.Eventf(ref, corev1.EventTypeWarning, "OwnerRefInvalidNamespace",
		"the owner with UID %s does not exist in namespace %q: %s", o.id.uid, it.namespace, why)
}

// versionOf returns an object's resource version; 0 if it is not a number, as external servers may return.
func versionOf(o *metav1.PartialObjectMetadata) int64 {
	version, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// isAbsent reports whether an error means that an object does not exist, rather than that its server is
// unavailable.
func isAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func metaOf(o *metav1.PartialObjectMetadata) control.Meta {
	return control.Meta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, Deleting: o.DeletionTimestamp != nil,
		Finalizers: o.Finalizers, Owners: o.OwnerReferences,
	}
}

// delete deletes an object if it has not changed since the decision.
func (c *controller) delete(ctx context.Context, it *item, policy metav1.DeletionPropagation) error {
	objects, err := c.objects(it.resource, it.namespace)
	if err != nil {
		return err
	}
	conditions := &metav1.Preconditions{UID: &it.id.uid}
	if it.version != 0 {
		version := strconv.FormatInt(it.version, 10)
		conditions.ResourceVersion = &version
	}
	err = objects.Delete(ctx, it.name, metav1.DeleteOptions{PropagationPolicy: &policy, Preconditions: conditions})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if apierrors.IsConflict(err) {
		return c.refresh(ctx, it, err)
	}
	return err
}

// refresh re-reads an object after a conflict, and re-checks its current references.
func (c *controller) refresh(ctx context.Context, it *item, conflict error) error {
	m, version, err := c.live(ctx, it)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case m.UID != it.id.uid:
		return nil // the event of its deletion follows
	}
	c.graph.observe(place{it.id.key, it.resource, it.namespace, it.name}, &m, version)
	return conflict
}

// live reads the current object.
func (c *controller) live(ctx context.Context, it *item) (m control.Meta, version int64, err error) {
	objects, err := c.objects(it.resource, it.namespace)
	if err != nil {
		return m, 0, err
	}
	o, err := objects.Get(ctx, it.name, metav1.GetOptions{})
	if err != nil {
		return m, 0, err
	}
	return metaOf(o), versionOf(o), nil
}
