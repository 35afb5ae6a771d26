package nodeauthorizer

import (
	"context"
	"slices"
	"testing"

	"triplane.dev/generic/base/user"
)

func TestTrimKeepsUses(t *testing.T) {
	p := pod("p", "a")
	small, err := Trim(p)
	if err != nil {
		t.Fatal(err)
	}
	a, b := New(Features{}), New(Features{})
	a.graph.set(p)
	b.graph.set(small)
	if len(a.graph.uses) != len(b.graph.uses) || !slices.Equal(a.graph.pods[name{"n", "p"}].uses, b.graph.pods[name{"n", "p"}].uses) {
		t.Errorf("%v, trimmed %v", a.graph.uses, b.graph.uses)
	}
}

func TestRulesFor(t *testing.T) {
	a := New(Features{})
	if _, _, incomplete, err := a.RulesFor(context.Background(), ask("", "", "", "", "", "").User, "n"); !incomplete || err == nil {
		t.Errorf("a node: %v %v", incomplete, err)
	}
	if _, _, incomplete, err := a.RulesFor(context.Background(), &user.Info{Name: "x"}, "n"); incomplete || err != nil {
		t.Errorf("somebody: %v %v", incomplete, err)
	}
}
