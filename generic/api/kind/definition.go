package kind

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// definition is a completed declaration with its Representation.
type definition[T Object] struct {
	kind *Kind[T]
	form Form[T]
}

// Define completes the declaration and opens its Representation. Kinds of one resource that share Types, those of the
// chains of a process, share what must not depend on the chain: the first declaration gives the names, the
// Representation, Columns, Show, Select, New, Default, and the fields that others name.
func (k *Kind[T]) Define(scheme *runtime.Scheme, opts StorageOptions) (*Kind[T], Form[T], error) {
	typed, ok := k.Representation.(Typed[T])
	shared := opts.Types != nil && !opts.Resource.Empty() && typed.Storage == nil && (ok || k.Representation == nil)
	if shared {
		known, _ := opts.Types.definitions.Load(opts.Resource)
		if d, ok := known.(definition[T]); ok {
			return k.like(d.kind), d.form, nil
		}
	}
	c, err := k.Complete(scheme)
	if err != nil {
		return nil, nil, err
	}
	form, err := c.Open(scheme, opts)
	if err == nil && shared {
		opts.Types.definitions.Store(opts.Resource, definition[T]{c, form})
	}
	return c, form, err
}

// like returns a copy of the declaration, completed as another one of the same kind.
func (k *Kind[T]) like(other *Kind[T]) *Kind[T] {
	c := *k
	c.Hub, c.Names, c.New, c.NewList, c.plan = other.Hub, other.Names, other.New, other.NewList, other.plan
	c.Representation, c.Write.Default = other.Representation, other.Write.Default
	c.Columns, c.Show, c.Select = other.Columns, other.Show, other.Select
	planned := func(sub, other *Subresource[T]) *Subresource[T] {
		c := *sub
		c.plan = other.plan
		return &c
	}
	if c.Status != nil {
		c.Status = planned(c.Status, other.Status)
	}
	c.Subresources = make(map[string]*Subresource[T], len(k.Subresources))
	for name, sub := range k.Subresources {
		c.Subresources[name] = planned(sub, other.Subresources[name])
	}
	return &c
}
