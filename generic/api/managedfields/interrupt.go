package managedfields

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// The library cannot be interrupted, and some of its work takes time with the square of an object's
// size. For large objects it gets values that panic when the context of the request has ended.

const (
	// largeValues and largeBytes are the size of objects whose work is interrupted.
	largeValues = 4096
	largeBytes  = 64 << 10
	// maxErrors is how many of an object's errors are reported.
	maxErrors = 1000
)

// interruption is the panic of values whose context has ended. It stays within the package.
type interruption struct{ err error }

// ended returns the error of a recovered interruption, nil if nothing was recovered. Other panics go on.
func ended(recovered any) error {
	if recovered == nil {
		return nil
	}
	i, ok := recovered.(interruption)
	if !ok {
		panic(recovered)
	}
	return i.err
}

// library returns the library's manager for objects.
func (m *Manager) library(ctx context.Context, objs ...runtime.Object) *library.FieldManager {
	if m.options.LibraryOf == nil || ctx.Done() == nil {
		return m.options.Library
	}
	for _, obj := range objs {
		if !large(obj) {
			continue
		}
		if l, err := m.options.LibraryOf(endingTypes{m.options.Types, ctx}); err == nil {
			return l
		}
	}
	return m.options.Library
}

func large(obj runtime.Object) bool {
	switch o := obj.(type) {
	case runtime.Unstructured:
		left := largeValues
		return !few(o.UnstructuredContent(), &left)
	case interface{ Size() int }:
		return o.Size() > largeBytes
	}
	return true
}

// few counts the values in a value down, and reports whether something is left.
func few(v any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch x := v.(type) {
	case map[string]any:
		for _, e := range x {
			if !few(e, left) {
				return false
			}
		}
	case []any:
		for _, e := range x {
			if !few(e, left) {
				return false
			}
		}
	}
	return true
}

// endingTypes makes values that end with the context.
type endingTypes struct {
	library.TypeConverter
	ctx context.Context //nolint:containedctx // of the request
}

// ObjectToTyped implements library.TypeConverter.
func (t endingTypes) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	kind := &unstructured.Unstructured{Object: map[string]any{}}
	kind.SetGroupVersionKind(obj.GetObjectKind().GroupVersionKind())
	of, err := t.TypeConverter.ObjectToTyped(kind, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	var v value.Value
	if u, ok := obj.(*unstructured.Unstructured); ok {
		v = value.NewValueInterface(u.UnstructuredContent())
	} else if v, err = value.NewValueReflect(obj); err != nil {
		return nil, err
	}
	result, err := typed.AsTyped((&ending{ctx: t.ctx}).value(v), of.Schema(), of.TypeRef(), opts...)
	if all, ok := err.(typed.ValidationErrors); ok && len(all) > maxErrors { //nolint:errorlint // is not wrapped
		return nil, all[:maxErrors]
	}
	return result, err
}

// ending is what the values of one object share.
type ending struct {
	ctx   context.Context //nolint:containedctx // of the request
	steps int
}

func (e *ending) check() {
	if e.steps++; e.steps%64 == 0 {
		if err := e.ctx.Err(); err != nil {
			panic(interruption{err})
		}
	}
}

func (e *ending) value(v value.Value) value.Value {
	e.check()
	if v == nil {
		return nil
	}
	if _, is := v.(endingValue); is {
		return v
	}
	return endingValue{v, e}
}

type endingValue struct {
	value.Value
	*ending
}

// Format writes the value as errors of the library show it.
func (v endingValue) Format(f fmt.State, verb rune) {
	_, _ = fmt.Fprintf(f, fmt.FormatString(f, verb), v.Value)
}

func (v endingValue) AsMap() value.Map { return endingMap{v.Value.AsMap(), v.ending} }

func (v endingValue) AsMapUsing(a value.Allocator) value.Map {
	return endingMap{v.Value.AsMapUsing(a), v.ending}
}

func (v endingValue) AsList() value.List { return endingList{v.Value.AsList(), v.ending} }

func (v endingValue) AsListUsing(a value.Allocator) value.List {
	return endingList{v.Value.AsListUsing(a), v.ending}
}

type endingMap struct {
	value.Map
	*ending
}

func (m endingMap) Get(key string) (value.Value, bool) { return m.GetUsing(value.HeapAllocator, key) }

func (m endingMap) GetUsing(a value.Allocator, key string) (value.Value, bool) {
	v, ok := m.Map.GetUsing(a, key)
	return m.value(v), ok
}

func (m endingMap) Iterate(do func(key string, v value.Value) bool) bool {
	return m.IterateUsing(value.HeapAllocator, do)
}

// IterateUsing has the order of the keys. The library inserts each of them into a sorted list, which moves the entries
// behind it.
func (m endingMap) IterateUsing(a value.Allocator, do func(key string, v value.Value) bool) bool {
	return m.ZipUsing(a, nil, value.LexicalKeyOrder, func(key string, v, _ value.Value) bool { return do(key, v) })
}

func (m endingMap) Zip(other value.Map, order value.MapTraverseOrder, do func(key string, l, r value.Value) bool) bool {
	return m.ZipUsing(value.HeapAllocator, other, order, do)
}

// ZipUsing has the order of the keys, as IterateUsing.
func (m endingMap) ZipUsing(a value.Allocator, other value.Map, _ value.MapTraverseOrder,
	do func(key string, l, r value.Value) bool) bool {
	return m.Map.ZipUsing(a, other, value.LexicalKeyOrder, func(key string, l, r value.Value) bool {
		return do(key, m.value(l), m.value(r))
	})
}

type endingList struct {
	value.List
	*ending
}

func (l endingList) At(i int) value.Value { return l.value(l.List.At(i)) }

func (l endingList) AtUsing(a value.Allocator, i int) value.Value {
	return l.value(l.List.AtUsing(a, i))
}

func (l endingList) Range() value.ListRange { return l.RangeUsing(value.HeapAllocator) }

func (l endingList) RangeUsing(a value.Allocator) value.ListRange {
	return endingRange{l.List.RangeUsing(a), l.ending}
}

type endingRange struct {
	value.ListRange
	*ending
}

func (r endingRange) Item() (int, value.Value) {
	i, v := r.ListRange.Item()
	return i, r.value(v)
}
