package garbage

import (
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/kubeapi/controllers/control"
)

// ident identifies an object by key and UID.
type ident struct {
	key string // in storage, or synthetic for objects of external servers
	uid types.UID
}

// state is the known existence of an object.
type state uint8

const (
	virtual state = iota // only referenced so far
	present
	absent
)

// node is an object of the graph. The graph's lock guards it.
type node struct {
	id              ident
	resource        schema.GroupResource
	namespace, name string
	version         int64 // resource version, if present; 0 if it is not a number
	state           state
	at              int // index in its sameKey
	// changes counts the changes at the key, to detect reads that are outdated.
	changes int

	deleting, orphan, foreground bool

	owners     []edge
	dependents map[*node]struct{}
	blocking   int // number of edges to this node that block its deletion
}

// edge is a reference to an owner.
type edge struct {
	owner *node
	block bool
}

// waits reports whether the object waits for the deletion of its dependents.
func (n *node) waits() bool { return n.state == present && n.deleting && n.foreground }

// graph contains the objects with owners or dependents.
type graph struct {
	mu    sync.Mutex
	nodes map[ident]*node
	byKey map[string]*sameKey
	// check and orphan enqueue nodes; they must not block.
	check, orphan func(ident)
	// locate returns the place of a reference's object. ok is false if its kind is unknown.
	locate func(ref *metav1.OwnerReference, namespace string) (p place, ok bool)
}

// place is the location of an object.
type place struct {
	key             string
	resource        schema.GroupResource
	namespace, name string
}

func newGraph() *graph {
	return &graph{nodes: map[ident]*node{}, byKey: map[string]*sameKey{}}
}

// get returns the node of an object, and adds a virtual one if it is missing.
func (g *graph) get(uid types.UID, p place) *node {
	id := ident{p.key, uid}
	n := g.nodes[id]
	if n == nil {
		n = &node{id: id, resource: p.resource, namespace: p.namespace, name: p.name}
		g.nodes[id] = n
		same := g.byKey[p.key]
		if same == nil {
			same = &sameKey{}
			g.byKey[p.key] = same
		}
		same.add(n)
	}
	return n
}

// prune removes a node without dependents that waits for nothing.
func (g *graph) prune(n *node) {
	if g.nodes[n.id] != n {
		return // the first of two references to the same owner has removed it
	}
	if len(n.dependents) > 0 || len(n.owners) > 0 || n.state == present && n.deleting && (n.orphan || n.foreground) {
		return
	}
	delete(g.nodes, n.id)
	same := g.byKey[n.id.key]
	if same.remove(n); len(same.nodes) == 0 {
		delete(g.byKey, n.id.key)
	}
}

// known reports whether the graph contains a key.
func (g *graph) known(key string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.byKey[key] != nil
}

// newer reports whether the graph has a newer version of a key, because reads may be newer than events.
func (g *graph) newer(key string, version int64) bool {
	return slices.ContainsFunc(g.byKey[key].opened(), func(n *node) bool {
		return n.state == present &&
			n.version > version
	})
}

// observe records an object at a version.
func (g *graph) observe(p place, m *control.Meta, version int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if version != 0 && g.newer(p.key, version) {
		return
	}
	for _, other := range slices.Clone(g.byKey[p.key].opened()) {
		if other.id.uid != m.UID { // it was replaced by another object
			g.markAbsent(other)
		}
	}
	n := g.get(m.UID, p)
	g.byKey[p.key].reopen(n)
	n.state, n.version = present, version
	n.changes++
	waited, orphaned := n.waits(), n.deleting && n.orphan
	n.deleting = m.Deleting
	n.orphan = slices.Contains(m.Finalizers, metav1.FinalizerOrphanDependents)
	n.foreground = slices.Contains(m.Finalizers, metav1.FinalizerDeleteDependents)
	if g.link(n, m) && !n.settled() {
		g.check(n.id)
	}
	if n.waits() && !waited {
		g.check(n.id)
		g.checkDependents(n)
	}
	if n.deleting && n.orphan && !orphaned {
		g.orphan(n.id)
	}
	g.prune(n)
}

// settled reports whether all owners are present, so that nothing needs to be done.
func (n *node) settled() bool {
	return !slices.ContainsFunc(n.owners, func(e edge) bool { return e.owner.state != present || e.owner.waits() })
}

// link replaces the object's references, and reports whether any has changed.
func (g *graph) link(n *node, m *control.Meta) bool {
	next := make([]edge, 0, len(m.Owners))
	for i := range m.Owners {
		ref := &m.Owners[i]
		p, _ := g.locate(ref, n.namespace)
		next = append(next, edge{g.get(ref.UID, p), ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion})
	}
	before := n.owners
	if slices.Equal(before, next) {
		return false
	}
	n.owners = next
	for _, e := range next {
		if e.owner.dependents == nil {
			e.owner.dependents = map[*node]struct{}{}
		}
		e.owner.dependents[n] = struct{}{}
		if e.block {
			e.owner.blocking++
		}
	}
	g.unlink(n, before)
	return true
}

// unlink removes references, and the node from the dependents of owners that it no longer has.
func (g *graph) unlink(n *node, edges []edge) {
	kept := make(map[*node]bool, len(n.owners))
	for _, now := range n.owners {
		kept[now.owner] = true
	}
	for _, e := range edges {
		if e.block {
			e.owner.blocking--
		}
		if !kept[e.owner] {
			delete(e.owner.dependents, n)
		}
		if e.owner.waits() && e.owner.blocking == 0 {
			g.check(e.owner.id)
		}
		g.prune(e.owner)
	}
}

// deleted records the deletion of the object at a key. For virtual nodes it re-checks the dependents.
func (g *graph) deleted(key string, version int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range slices.Clone(g.byKey[key].opened()) {
		switch {
		case n.state != present:
			n.changes++
			g.checkDependents(n)
		case n.version < version:
			g.markAbsent(n)
		}
	}
}

// setAbsent records that an object does not exist.
func (g *graph) setAbsent(id ident) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.nodes[id]; n != nil {
		g.markAbsent(n)
	}
}

// markAbsent marks a node as absent.
func (g *graph) markAbsent(n *node) {
	if n.state == absent || g.nodes[n.id] != n {
		return
	}
	g.byKey[n.id.key].close(n)
	n.state, n.deleting = absent, false
	n.changes++
	edges := n.owners
	n.owners = nil
	g.unlink(n, edges)
	g.checkDependents(n)
	g.prune(n)
}

func (g *graph) checkDependents(n *node) {
	for d := range n.dependents {
		g.check(d.id)
	}
}

// listed marks objects of a resource as absent that did not exist at a version.
func (g *graph) listed(resource schema.GroupResource, version int64, there func(key string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var deleted []*node
	for id, n := range g.nodes {
		switch {
		case n.unknown(): // its kind may be served now
			g.checkDependents(n)
		case n.resource == resource && n.state == present && n.version < version && !there(id.key):
			deleted = append(deleted, n)
		}
	}
	for _, n := range deleted {
		g.markAbsent(n)
	}
}

// presentOf returns the objects of a resource that are marked present.
func (g *graph) presentOf(resource schema.GroupResource) []ident {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []ident
	for id, n := range g.nodes {
		if n.resource == resource && n.state == present {
			out = append(out, id)
		}
	}
	return out
}

// unknown reports whether the kind of the object is not served.
func (n *node) unknown() bool { return n.resource.Resource == "" }
