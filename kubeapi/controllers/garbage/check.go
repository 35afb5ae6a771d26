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

	"triplane/kubeapi/controllers/control"
)

// item is a copy of what the graph has of an object.
type item struct {
	node   // its maps and slices are the graph's
	owners []owner
	// hasDependents, and dependentWaits where one of them waits for its own.
	hasDependents, dependentWaits bool
	// blocked says that dependents have to go first.
	blocked bool
}

// owner is what is known of an owner of an item.
type owner struct {
	id      ident
	state   state
	waits   bool
	invalid bool // a cluster-scoped object names it, and it is in a namespace
	unknown bool // its kind is not served
}

// look returns what there is to know of an object; nil where it is not there.
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

// check decides whether an object may stay.
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
		if it.dependentWaits { // they wait for each other
			if err := c.unblock(ctx, it); err != nil {
				return err
			}
		}
		return c.delete(ctx, it, metav1.DeletePropagationForeground)
	}
	return c.delete(ctx, it, it.policy())
}

// policy is what the object itself wants of its dependents.
func (it *item) policy() metav1.DeletionPropagation {
	switch {
	case it.orphan:
		return metav1.DeletePropagationOrphan
	case it.foreground:
		return metav1.DeletePropagationForeground
	}
	return metav1.DeletePropagationBackground
}

// resolve finds out whether an owner is there.
func (c *controller) resolve(ctx context.Context, it *item, o *owner) error {
	switch {
	case o.unknown:
		return c.observeAgain(ctx, it)
	case o.invalid:
		c.warn(it, o, "a cluster-scoped object cannot have an owner in a namespace")
		o.state = present // nobody can say that it is gone
		return nil
	case o.state != virtual:
		return nil
	}
	return c.read(ctx, it, o)
}

// errUnknownKind says that an owner's kind is not served.
var errUnknownKind = errors.New("the kind of an owner is not served")

// observeAgain resolves the references of an object anew, whose owners' kinds may
// be served by now.
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

// read asks for an owner.
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
		if err := c.lookElsewhere(ctx, it, o, at); err != nil {
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

// where returns a copy of a node; nil if it is not there.
func (g *graph) where(id ident) *node {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.nodes[id]; n != nil {
		at := *n
		return &at
	}
	return nil
}

// found notes how a read of a node ended. It reports false where something
// happened meanwhile, so that the read is void.
func (g *graph) found(at *node, exists bool, obj *metav1.PartialObjectMetadata) bool {
	g.mu.Lock()
	n := g.nodes[at.id]
	if n == nil || n.changes != at.changes {
		g.mu.Unlock()
		return n != nil && (n.state == present) == exists
	}
	if !exists {
		g.vanish(n)
		g.mu.Unlock()
		return true
	}
	g.mu.Unlock()
	m := metaOf(obj)
	g.observe(place{at.id.key, at.resource, at.namespace, at.name}, &m, versionOf(obj))
	return true
}

// lookElsewhere says in an event that the owner is in another namespace.
func (c *controller) lookElsewhere(ctx context.Context, it *item, o *owner, at *node) error {
	if at.namespace == "" {
		return nil
	}
	objects, err := c.objects(at.resource, "")
	if err != nil {
		return err
	}
	list, err := objects.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + at.name, ResourceVersion: "0"})
	if err != nil {
		return nil //nolint:nilerr // the event is a help; the owner is absent all the same
	}
	for i := range list.Items {
		if list.Items[i].UID == o.id.uid {
			c.warn(it, o, "it is in namespace "+list.Items[i].Namespace)
			return nil
		}
	}
	return nil
}

// warn creates the event of a reference into a namespace where the owner cannot be.
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

// versionOf is an object's resource version; 0 where it is no number, as those of
// external servers may be.
func versionOf(o *metav1.PartialObjectMetadata) int64 {
	version, err := strconv.ParseInt(o.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return version
}

// isAbsent reports whether an error says that an object does not exist, rather than
// that nobody answers for it.
func isAbsent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func metaOf(o *metav1.PartialObjectMetadata) control.Meta {
	return control.Meta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, Deleting: o.DeletionTimestamp != nil,
		Finalizers: o.Finalizers, Owners: o.OwnerReferences,
	}
}

// delete deletes an object that is as it was when that was decided.
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

// refresh reads an object that has changed; the present references count.
func (c *controller) refresh(ctx context.Context, it *item, conflict error) error {
	m, version, err := c.live(ctx, it)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case m.UID != it.id.uid:
		return nil // its deletion is on the way
	}
	c.graph.observe(place{it.id.key, it.resource, it.namespace, it.name}, &m, version)
	return conflict
}

// live reads an object as it is now.
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
