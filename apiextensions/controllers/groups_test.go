package controllers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testCatalogue is a catalogue and its storage: it takes every write, or refuses
// all, and counts them.
type testCatalogue struct {
	*Controller
	known map[string]definition

	mu     sync.Mutex
	writes int
	refuse bool
}

func (c *testCatalogue) Get(name string) definition { return c.known[name] }
func (c *testCatalogue) All() iter.Seq[definition]  { return maps.Values(c.known) }

func (c *testCatalogue) Written(crd definition) {
	old := c.known[crd.Name]
	c.known[crd.Name] = crd
	c.Changed(old, crd)
}

func (c *testCatalogue) remove(name string) {
	old := c.known[name]
	delete(c.known, name)
	c.Changed(old, nil)
}

func (c *testCatalogue) write(_ context.Context, name string, change func(definition) error) (definition, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	if c.refuse {
		return nil, errors.New("no")
	}
	crd := c.known[name].DeepCopy()
	return crd, change(crd)
}

func testController() *testCatalogue {
	c := &testCatalogue{known: map[string]definition{}}
	c.Controller = New(Config{Catalogue: c, Write: c.write})
	return c
}

func member(i int, plural, kind string) definition {
	crd := named(plural, "", kind, kind+"List")
	crd.Name, crd.Spec.Group = plural+".example.com", "example.com"
	crd.CreationTimestamp = metav1.NewTime(time.Unix(int64(i), 0))
	return crd
}

func accepted(c *testCatalogue, name string) bool {
	got := Condition(c.known[name], apiextensionsv1.NamesAccepted)
	return got != nil && got.Status == apiextensionsv1.ConditionTrue
}

func TestNamesAreHandedOn(t *testing.T) {
	c := testController()
	for i, plural := range []string{"as", "bs", "cs"} {
		c.Written(member(10-i, plural, "Same"))
	}
	c.reconcile(t.Context())
	for _, want := range []string{"cs", "bs", "as"} { // the eldest first
		for name := range c.known {
			if got := accepted(c, name); got != (name == want+".example.com") {
				t.Fatalf("%s has its names: %v while %s is the eldest", name, got, want)
			}
		}
		c.remove(want + ".example.com")
		c.reconcile(t.Context())
	}
	if len(c.groups) != 0 {
		t.Errorf("groups are left: %v", c.groups)
	}
}

// TestNothingSquared counts what a CRD costs beside many of its group.
func TestNothingSquared(t *testing.T) {
	c := testController()
	const n = 300
	for i := range n {
		c.Written(member(i, fmt.Sprintf("p%d", i), fmt.Sprintf("K%d", i)))
		c.reconcile(t.Context())
		if len(c.dirty) != 0 {
			t.Fatalf("%d CRDs are to be looked after", len(c.dirty))
		}
	}
	if c.writes != n {
		t.Errorf("%d statuses were written", c.writes)
	}
	allocs := testing.AllocsPerRun(1, func() {
		c.Written(member(0, "p0", "K0"))
		c.reconcile(t.Context())
	})
	if allocs > 200 {
		t.Errorf("one CRD beside %d takes %v allocations", n, allocs)
	}
}

// TestRefusedWrite sees to it that names of a status that could not be written
// are free.
func TestRefusedWrite(t *testing.T) {
	c := testController()
	c.refuse = true
	c.Written(member(1, "as", "Same"))
	c.reconcile(t.Context())
	c.refuse = false
	c.Written(member(2, "bs", "Same"))
	c.reconcile(t.Context())
	if accepted(c, "as.example.com") || !accepted(c, "bs.example.com") {
		t.Error("names are held by a CRD whose status was not written")
	}
}

// TestConflictIsNotTriedAgain has a CRD give up a name and ask for one that
// another holds, so that it waits for names and wakes those that do. When its
// status is refused it is left alone until something happens.
func TestConflictIsNotTriedAgain(t *testing.T) {
	c := testController()
	c.Written(member(1, "as", "First"))
	c.Written(member(2, "bs", "Second"))
	c.reconcile(t.Context())
	renamed := c.known["as.example.com"].DeepCopy()
	renamed.Spec.Names.Kind, renamed.Spec.Names.ListKind = "Second", "OtherList"
	c.refuse, c.writes = true, 0
	c.Written(renamed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c.reconcile(ctx)
	if c.writes != 1 {
		t.Errorf("%d writes of a status that is refused", c.writes)
	}
}

// TestManyAtOnce decides a batch as if one came after the other.
func TestManyAtOnce(t *testing.T) {
	c := testController()
	for i := range 3 * writers {
		c.Written(member(i, fmt.Sprintf("p%d", i), fmt.Sprintf("K%d", i/2)))
	}
	c.reconcile(t.Context())
	for i := range 3 * writers {
		if got := accepted(c, fmt.Sprintf("p%d.example.com", i)); got != (i%2 == 0) {
			t.Errorf("p%d has its names: %v", i, got)
		}
	}
}

// TestOwnNamesInTheWay has a short name that another holds kept from a CRD, whose own plural,
// which it has got by then, is in the way of the other.
func TestOwnNamesInTheWay(t *testing.T) {
	c := testController()
	c.Written(member(1, "as", "First"))
	second := member(2, "bs", "Second")
	second.Spec.Names.ShortNames = []string{"as", "bs"}
	c.Written(second)
	c.reconcile(t.Context())
	const want = `["as" is already in use, "bs" is already in use]`
	if got := Condition(c.known[second.Name], apiextensionsv1.NamesAccepted); got.Message != want || c.writes != 2 {
		t.Errorf("after %d writes: %v", c.writes, got)
	}
	alone := member(3, "cs", "Third")
	alone.Spec.Names.ShortNames = []string{"cs"}
	c.Written(alone)
	c.reconcile(t.Context())
	if !accepted(c, alone.Name) {
		t.Errorf("nobody else holds them: %v", Condition(c.known[alone.Name], apiextensionsv1.NamesAccepted))
	}
}
