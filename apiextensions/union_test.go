package apiextensions

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"unique"
)

// partOf returns the part of a CRD that serves the versions.
func partOf(plural string, versions ...string) part {
	text := ""
	for i, v := range versions {
		text += fmt.Sprintf(`{"name":%q,"served":true,"storage":%t},`, v, i == 0)
	}
	return unique.Make(fmt.Sprintf(`{"spec":{"group":"example.com","scope":"Namespaced","versions":[%s]},`+
		`"status":{"acceptedNames":{"plural":%q}}}`, text[:len(text)-1], plural))
}

// What members know after changes is what they would know of the CRDs that are left.
func TestMembersFollowChanges(t *testing.T) {
	parts := []part{partOf("widgets", "v1"), partOf("widgets", "v1", "v2"), partOf("widgets", "v2"),
		partOf("gadgets", "v1")}
	random := rand.New(rand.NewPCG(1, 2))
	empty := func() *members { return &members{of: map[string]part{}, parts: map[part]*alike{}} }
	m := empty()
	for step := range 2000 {
		server := fmt.Sprint("s", random.IntN(12))
		m.remove(server)
		if which := random.IntN(len(parts) + 2); which < len(parts) {
			m.add(server, parts[which])
		}
		again := empty()
		for server, p := range m.of {
			again.add(server, p)
		}
		crd, excluded := m.unite()
		want, wantExcluded := again.unite()
		if !reflect.DeepEqual(crd, want) || !reflect.DeepEqual(excluded, wantExcluded) {
			t.Fatalf("step %d: %v excludes %v; all anew: %v excludes %v", step, crd, excluded, want, wantExcluded)
		}
		if crd == nil && len(m.of) > 0 {
			t.Fatalf("step %d: there is no union of %v", step, m.of)
		}
	}
}

// The union has the names of most servers. The others are excluded from all versions, and those without a version from
// that one.
func TestUnionOfMost(t *testing.T) {
	m := &members{of: map[string]part{}, parts: map[part]*alike{}}
	m.add("a", partOf("widgets", "v1"))
	m.add("b", partOf("widgets", "v1", "v2"))
	m.add("c", partOf("gadgets", "v1"))
	crd, excluded := m.unite()
	want := map[string]map[string]bool{"v1": {"c": true}, "v2": {"a": true, "c": true}}
	if crd.Status.AcceptedNames.Plural != "widgets" || !reflect.DeepEqual(excluded, want) {
		t.Errorf("%s excludes %v, want %v", crd.Status.AcceptedNames.Plural, excluded, want)
	}
	m.remove("a")
	m.remove("b")
	crd, excluded = m.unite()
	if crd.Status.AcceptedNames.Plural != "gadgets" || len(excluded) > 0 {
		t.Errorf("%s excludes %v after the others were deleted", crd.Status.AcceptedNames.Plural, excluded)
	}
}

// BenchmarkUnionOfChange is one change of a CRD that many servers have.
func BenchmarkUnionOfChange(b *testing.B) {
	for _, servers := range []int{10, 1000} {
		b.Run(fmt.Sprint(servers), func(b *testing.B) {
			m := &members{of: map[string]part{}, parts: map[part]*alike{}}
			one, other := partOf("widgets", "v1"), partOf("widgets", "v1", "v2")
			for i := range servers {
				m.add(fmt.Sprint("s", i), other)
			}
			for b.Loop() {
				m.remove("s0")
				m.add("s0", one)
				m.remove("s0")
				m.add("s0", other)
				m.unite()
			}
		})
	}
}
