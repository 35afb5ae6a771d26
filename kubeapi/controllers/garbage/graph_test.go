package garbage

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/kubeapi/controllers/control"
)

// testGraph is a graph whose objects are named by their keys, with the objects enqueued for a check.
type testGraph struct {
	*graph
	checked, orphaned []string
}

func newTestGraph() *testGraph {
	g := &testGraph{graph: newGraph()}
	g.check = func(id ident) { g.checked = append(g.checked, string(id.uid)) }
	g.orphan = func(id ident) { g.orphaned = append(g.orphaned, string(id.uid)) }
	g.locate = func(ref *metav1.OwnerReference, _ string) (place, bool) { return at(ref.Name), true }
	return g
}

func at(name string) place {
	return place{key: name, resource: schema.GroupResource{Resource: "things"}, name: name}
}

// see observes an object whose UID is its name, unless it is given.
func (g *testGraph) see(version int64, name, uid string, change func(*control.Meta), owners ...string) {
	m := &control.Meta{Name: name, UID: types.UID(uid)}
	yes := true
	for _, o := range owners {
		m.Owners = append(m.Owners, metav1.OwnerReference{Name: o, UID: types.UID(o), BlockOwnerDeletion: &yes})
	}
	if change != nil {
		change(m)
	}
	g.observe(at(name), m, version)
}

func (g *testGraph) take(t *testing.T, want ...string) {
	t.Helper()
	slices.Sort(g.checked)
	if got := slices.Compact(g.checked); !slices.Equal(got, want) {
		t.Errorf("to be looked at are %v, want %v", got, want)
	}
	g.checked = nil
}

func foreground(m *control.Meta) {
	m.Deleting, m.Finalizers = true, []string{metav1.FinalizerDeleteDependents}
}

func TestDependentsFollowTheirOwner(t *testing.T) {
	g := newTestGraph()
	g.see(1, "alone", "alone", nil)
	if len(g.nodes) != 0 {
		t.Error("an object without owners is kept")
	}
	g.see(2, "a", "a", nil, "owner")
	g.take(t, "a") // it is not known whether the owner exists
	g.see(3, "owner", "owner", nil)
	g.see(4, "b", "b", nil, "owner")
	g.take(t) // it exists
	g.deleted("owner", 5)
	g.take(t, "a", "b")
	if n := g.nodes[ident{"owner", "owner"}]; n == nil || n.state != absent {
		t.Errorf("the owner is %+v", n)
	}
	g.deleted("a", 6)
	g.deleted("b", 7)
	if len(g.nodes) != 0 || len(g.byKey) != 0 {
		t.Errorf("left are %v %v", g.nodes, g.byKey)
	}
}

func TestForegroundWaitsForTheLast(t *testing.T) {
	g := newTestGraph()
	for i, name := range []string{"a", "b"} {
		g.see(int64(i+1), name, name, nil, "owner")
	}
	g.see(3, "owner", "owner", nil)
	g.take(t, "a", "b")
	g.see(4, "owner", "owner", foreground)
	g.take(t, "a", "b", "owner")
	if it := g.look(ident{"owner", "owner"}); it == nil || !it.blocked {
		t.Errorf("nothing blocks %+v", it)
	}
	g.deleted("a", 5)
	g.take(t)
	g.deleted("b", 6)
	g.take(t, "owner")
	if it := g.look(ident{"owner", "owner"}); it == nil || it.blocked {
		t.Errorf("it is blocked still: %+v", it)
	}
}

func TestReadsOvertakeChanges(t *testing.T) {
	g := newTestGraph()
	g.see(1, "dependent", "dependent", nil, "owner")
	g.see(10, "owner", "owner", nil) // read
	g.checked = nil
	g.deleted("owner", 5) // of another one before it
	g.see(5, "owner", "former", nil)
	g.take(t)
	if n := g.nodes[ident{"owner", "owner"}]; n == nil || n.state != present {
		t.Errorf("an old change took the owner away: %+v", n)
	}
	g.listed(schema.GroupResource{Resource: "things"}, 7, func(key string) bool { return key == "dependent" })
	if n := g.nodes[ident{"owner", "owner"}]; n == nil || n.state != present {
		t.Errorf("an old list took the owner away: %+v", n)
	}
	g.listed(schema.GroupResource{Resource: "things"}, 11, func(key string) bool { return key == "dependent" })
	g.take(t, "dependent")
}

// A reference with the right UID at the wrong place refers to another owner.
func TestWrongReferencesHarmNobody(t *testing.T) {
	g := newTestGraph()
	g.see(1, "owner", "owner", nil)
	g.see(2, "right", "right", nil, "owner")
	g.see(3, "owner", "owner", nil)
	g.see(4, "wrong", "wrong", func(m *control.Meta) {
		m.Owners = []metav1.OwnerReference{{Name: "elsewhere", UID: "owner"}}
	})
	g.checked = nil
	id := ident{"elsewhere", "owner"}
	if !g.found(g.where(id), false, nil) {
		t.Error("a read is void")
	}
	g.take(t, "wrong")
}

// The result of a read is ignored if a deletion happened since.
func TestOvertakenReadsAreVoid(t *testing.T) {
	g := newTestGraph()
	g.see(1, "dependent", "dependent", nil, "owner")
	before := g.where(ident{"owner", "owner"})
	g.deleted("owner", 2)
	if g.found(before, true, &metav1.PartialObjectMetadata{}) {
		t.Error("the read is believed")
	}
}

// Clients choose the number of owners of an object.
func TestManyOwners(t *testing.T) {
	owners := func(prefix string) (names []string) {
		for i := range 50_000 {
			names = append(names, fmt.Sprint(prefix, i))
		}
		return names
	}
	g, begun := newTestGraph(), time.Now()
	g.see(1, "child", "child", nil, owners("a")...)
	g.see(2, "child", "child", nil, owners("b")...)
	if n := len(g.nodes); n != 50_001 {
		t.Errorf("%d nodes", n)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it takes %v", took)
	}
}
