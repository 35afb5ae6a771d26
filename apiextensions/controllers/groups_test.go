package controllers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writer takes every status, or refuses all, and counts them.
type writer struct {
	mu     sync.Mutex
	writes int
	refuse bool
}

func (w *writer) UpdateStatus(_ context.Context, crd definition, _ metav1.UpdateOptions) (definition, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	if w.refuse {
		return nil, errors.New("no")
	}
	return crd, nil
}

func (w *writer) Get(context.Context, string, metav1.GetOptions) (definition, error) { return nil, nil }

func testController() (*Controller, *writer) {
	w := &writer{}
	nothing := func(definition) {}
	return New(Config{Client: w, Changed: nothing, Removed: nothing}), w
}

func member(i int, plural, kind string) definition {
	crd := named(plural, "", kind, kind+"List")
	crd.Name, crd.Spec.Group = plural+".example.com", "example.com"
	crd.CreationTimestamp = metav1.NewTime(time.Unix(int64(i), 0))
	return crd
}

func accepted(c *Controller, name string) bool {
	got := Condition(c.known[name], apiextensionsv1.NamesAccepted)
	return got != nil && got.Status == apiextensionsv1.ConditionTrue
}

func TestNamesAreHandedOn(t *testing.T) {
	c, _ := testController()
	for i, plural := range []string{"as", "bs", "cs"} {
		c.enter(member(10-i, plural, "Same"))
	}
	c.reconcile(t.Context())
	for _, want := range []string{"cs", "bs", "as"} { // the eldest first
		for name := range c.known {
			if got := accepted(c, name); got != (name == want+".example.com") {
				t.Fatalf("%s has its names: %v while %s is the eldest", name, got, want)
			}
		}
		c.forget(c.known[want+".example.com"])
		c.reconcile(t.Context())
	}
	if len(c.groups) != 0 {
		t.Errorf("groups are left: %v", c.groups)
	}
}

// TestNothingSquared counts what a CRD costs beside many of its group.
func TestNothingSquared(t *testing.T) {
	c, w := testController()
	const n = 300
	for i := range n {
		c.enter(member(i, fmt.Sprintf("p%d", i), fmt.Sprintf("K%d", i)))
		c.reconcile(t.Context())
		if len(c.dirty) != 0 {
			t.Fatalf("%d CRDs are to be looked after", len(c.dirty))
		}
	}
	if w.writes != n {
		t.Errorf("%d statuses were written", w.writes)
	}
	allocs := testing.AllocsPerRun(1, func() {
		c.enter(member(0, "p0", "K0"))
		c.reconcile(t.Context())
	})
	if allocs > 200 {
		t.Errorf("one CRD beside %d takes %v allocations", n, allocs)
	}
}

// TestRefusedWrite sees to it that names of a status that could not be written
// are free.
func TestRefusedWrite(t *testing.T) {
	c, w := testController()
	w.refuse = true
	c.enter(member(1, "as", "Same"))
	c.reconcile(t.Context())
	w.refuse = false
	c.enter(member(2, "bs", "Same"))
	c.reconcile(t.Context())
	if accepted(c, "as.example.com") || !accepted(c, "bs.example.com") {
		t.Error("names are held by a CRD whose status was not written")
	}
}

// TestConflictIsNotTriedAgain has a CRD give up a name and ask for one that
// another holds, so that it waits for names and wakes those that do. When its
// status is refused it is left alone until something happens.
func TestConflictIsNotTriedAgain(t *testing.T) {
	c, w := testController()
	c.enter(member(1, "as", "First"))
	c.enter(member(2, "bs", "Second"))
	c.reconcile(t.Context())
	renamed := c.known["as.example.com"].DeepCopy()
	renamed.Spec.Names.Kind, renamed.Spec.Names.ListKind = "Second", "OtherList"
	w.refuse, w.writes = true, 0
	c.enter(renamed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	c.reconcile(ctx)
	if w.writes != 1 {
		t.Errorf("%d writes of a status that is refused", w.writes)
	}
}

// TestManyAtOnce decides a batch as if one came after the other.
func TestManyAtOnce(t *testing.T) {
	c, _ := testController()
	for i := range 3 * writers {
		c.enter(member(i, fmt.Sprintf("p%d", i), fmt.Sprintf("K%d", i/2)))
	}
	c.reconcile(t.Context())
	for i := range 3 * writers {
		if got := accepted(c, fmt.Sprintf("p%d.example.com", i)); got != (i%2 == 0) {
			t.Errorf("p%d has its names: %v", i, got)
		}
	}
}
