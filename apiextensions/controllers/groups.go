package controllers

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// group is the CRDs of one API group, and the names that they hold: what a
// change costs does not depend on how many there are.
type group struct {
	members int
	held    claimed
	// waiting are the CRDs without all their names, which another CRD may release.
	waiting map[string]bool
}

// enterGroup replaces a CRD of the group. Either may be nil. released reports whether names became free.
func (c *Controller) enterGroup(old, crd definition) (released bool) {
	if old != nil {
		g := c.groups[old.Spec.Group]
		g.members--
		g.held.remove(old)
		delete(g.waiting, old.Name)
		if g.members == 0 && crd == nil {
			delete(c.groups, old.Spec.Group)
		}
		released = crd == nil || !sameNames(old, crd)
	}
	if crd != nil {
		g := c.groups[crd.Spec.Group]
		if g == nil {
			g = &group{held: claims(nil), waiting: map[string]bool{}}
			c.groups[crd.Spec.Group] = g
		}
		g.members++
		g.held.add(crd)
		if a := Condition(crd, apiextensionsv1.NamesAccepted); a == nil || a.Status != apiextensionsv1.ConditionTrue {
			g.waiting[crd.Name] = true
		}
	}
	return released
}

// wake marks those of a group that wait for names.
func (c *Controller) wake(name string) {
	if g := c.groups[name]; g != nil {
		maps.Copy(c.dirty, g.waiting)
	}
}

func sameNames(a, b definition) bool {
	x, y := &a.Status.AcceptedNames, &b.Status.AcceptedNames
	return x.Plural == y.Plural && x.Singular == y.Singular && x.Kind == y.Kind && x.ListKind == y.ListKind &&
		slices.Equal(x.ShortNames, y.ShortNames)
}

// nextDirty takes the CRDs that have to be looked after, the eldest first.
func (c *Controller) nextDirty() []definition {
	out := make([]definition, 0, len(c.dirty))
	for name := range c.dirty {
		if crd := c.Catalogue.Get(name); crd != nil {
			out = append(out, crd)
		}
	}
	clear(c.dirty)
	slices.SortFunc(out, func(a, b definition) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// claimed are the names that the CRDs of a group hold.
type claimed struct{ resources, kinds counts }

// counts is how often a name is held.
type counts map[string]int

func (c counts) Has(name string) bool { return c[name] > 0 }

func (c counts) change(name string, by int) {
	if name == "" {
		return
	}
	if c[name] += by; c[name] <= 0 {
		delete(c, name)
	}
}

func claims(group []definition) claimed {
	c := claimed{resources: counts{}, kinds: counts{}}
	for _, crd := range group {
		c.add(crd)
	}
	return c
}

func (c claimed) add(crd definition)    { c.change(crd, 1) }
func (c claimed) remove(crd definition) { c.change(crd, -1) }

func (c claimed) change(crd definition, by int) {
	n := &crd.Status.AcceptedNames
	c.resources.change(n.Plural, by)
	c.resources.change(n.Singular, by)
	for _, name := range n.ShortNames {
		c.resources.change(name, by)
	}
	c.kinds.change(n.Kind, by)
	c.kinds.change(n.ListKind, by)
}
