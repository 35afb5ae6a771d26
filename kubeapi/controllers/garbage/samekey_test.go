package garbage

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/kubeapi/controllers/control"
)

// With objects that own each other, themselves, and some of them twice, each node is at its key.
func TestNodesOfOneKey(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names, uids := []string{"a", "b", "c"}, []string{"1", "2", "3", "4"}
	any := func(of []string) string { return of[random.IntN(len(of))] }
	g := newTestGraph()
	for version := range int64(20_000) {
		switch random.IntN(5) {
		case 0:
			g.deleted(any(names), version)
		case 1:
			g.setAbsent(ident{any(names), types.UID(any(uids))})
		case 2:
			there := any(names)
			g.listed(at("").resource, version, func(key string) bool { return key == there })
		default:
			m := &control.Meta{Name: any(names), UID: types.UID(any(uids))}
			for range random.IntN(4) {
				m.Owners = append(m.Owners, metav1.OwnerReference{Name: any(names), UID: types.UID(any(uids))})
			}
			if random.IntN(4) == 0 {
				foreground(m)
			}
			g.observe(at(m.Name), m, version)
		}
		if err := g.consistent(); err != nil {
			t.Fatalf("after %d: %v", version, err)
		}
	}
	if len(g.checked) == 0 {
		t.Error("nothing was ever to be looked at")
	}
}

// consistent returns an error if a node is not at its key.
func (g *graph) consistent() error {
	all := 0
	for key, same := range g.byKey {
		if len(same.nodes) == 0 {
			return fmt.Errorf("%s is kept without nodes", key)
		}
		for i, n := range same.nodes {
			all++
			if n.at != i || n.id.key != key || g.nodes[n.id] != n || (n.state != absent) != (i < same.open) {
				return fmt.Errorf("%s: %+v at %d of %d, %d of them open", key, n, i, len(same.nodes), same.open)
			}
		}
	}
	if all != len(g.nodes) {
		return fmt.Errorf("%d nodes have keys, of %d", all, len(g.nodes))
	}
	return nil
}

// The cost of an event at a key does not depend on references to absent objects.
func BenchmarkManyOwnersOfOneName(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := newTestGraph()
			g.check = func(ident) {}
			for i := range n {
				m := &control.Meta{Name: fmt.Sprint("d", i), UID: types.UID(fmt.Sprint("d", i)), Owners: []metav1.OwnerReference{{Name: "owner", UID: types.UID(fmt.Sprint(i))}}}
				g.observe(at(m.Name), m, 1)
			}
			version := int64(1)
			for b.Loop() {
				version++
				g.see(version, "owner", "there", foreground)
			}
		})
	}
}
