package apiextensions

import (
	"iter"
	"sync/atomic"

	"github.com/tidwall/btree"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/storage"
)

// definitionObject is a CustomResourceDefinition.
type definitionObject = *apiextensionsv1.CustomResourceDefinition

// catalogue holds the CRDs of the server, by group and plural, for all that read
// them: the handler of requests, the publisher of discovery and OpenAPI, and the
// controller. It is copy-on-write: readers take no lock and may be concurrent,
// and a thousand CRDs can come one by one. One goroutine, that of the follower,
// calls set, Written and Remove.
type catalogue struct {
	groups atomic.Pointer[btree.Map[string, *group]]
	// listeners are called in their order after each change, with what was there
	// before and what is there now; either may be nil.
	listeners []func(old, now *entry)
}

// group is the CRDs of one API group, by plural. It is immutable.
type group = btree.Map[string, *entry]

func newCatalogue() *catalogue {
	c := &catalogue{}
	c.groups.Store(new(btree.Map[string, *group]))
	return c
}

// find returns the CRD of a resource, nil where there is none.
func (c *catalogue) find(gr schema.GroupResource) *entry {
	g := c.group(gr.Group)
	if g == nil {
		return nil
	}
	res, _ := g.Get(gr.Resource)
	return res
}

// group returns the CRDs of a group, nil where there is none.
func (c *catalogue) group(name string) *group {
	g, _ := c.groups.Load().Get(name)
	return g
}

// all iterates over the CRDs.
func (c *catalogue) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		c.groups.Load().Scan(func(_ string, g *group) bool {
			more := true
			g.Scan(func(_ string, res *entry) bool {
				more = yield(res)
				return more
			})
			return more
		})
	}
}

// serving iterates over the established CRDs that serve a version, in the order
// of their names.
func (c *catalogue) serving(gv schema.GroupVersion) iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
		if g := c.group(gv.Group); g != nil {
			g.Scan(func(_ string, res *entry) bool {
				if servedVersion(res.crd, gv.Version) == nil || !validation.IsTrue(res.crd, apiextensionsv1.Established) {
					return true
				}
				return yield(res)
			})
		}
	}
}

// named splits the name of a CRD, "PLURAL.GROUP".
func named(name string) schema.GroupResource { return schema.ParseGroupResource(name) }

// Get returns the outline of a CRD, nil where there is none.
func (c *catalogue) Get(name string) definitionObject {
	if res := c.find(named(name)); res != nil {
		return res.crd
	}
	return nil
}

// All iterates over the outlines of the CRDs.
func (c *catalogue) All() iter.Seq[definitionObject] {
	return func(yield func(definitionObject) bool) {
		for res := range c.all() {
			if !yield(res.crd) {
				return
			}
		}
	}
}

// Written enters a CRD whose status was written. Its spec is that of the one that it replaces.
func (c *catalogue) Written(crd definitionObject) {
	gr := named(crd.Name)
	if old := c.find(gr); old != nil {
		outline := *old.crd
		outline.ResourceVersion, outline.Status = crd.ResourceVersion, crd.Status
		outline.Finalizers, outline.DeletionTimestamp = crd.Finalizers, crd.DeletionTimestamp
		c.enter(gr, old, newEntry(&outline, old.generation.stored.Load(), generationOf(old, &outline)))
	}
}

// set enters a CRD, new or changed, as storage holds it.
func (c *catalogue) set(outline definitionObject, stored *storage.Record) {
	gr := named(outline.Name)
	old := c.find(gr)
	c.enter(gr, old, newEntry(outline, stored, generationOf(old, outline)))
}

// Remove takes a CRD out, if it is there.
func (c *catalogue) Remove(name string) {
	gr := named(name)
	if old := c.find(gr); old != nil {
		c.enter(gr, old, nil)
	}
}

// enter replaces a CRD. Either may be nil.
func (c *catalogue) enter(gr schema.GroupResource, old, now *entry) {
	g := new(group)
	if before := c.group(gr.Group); before != nil {
		g = before.Copy()
	}
	if now != nil {
		g.Set(gr.Resource, now)
	} else {
		g.Delete(gr.Resource)
	}
	groups := c.groups.Load().Copy()
	if g.Len() > 0 {
		groups.Set(gr.Group, g)
	} else {
		groups.Delete(gr.Group)
	}
	c.groups.Store(groups)
	for _, changed := range c.listeners {
		changed(old, now)
	}
}
