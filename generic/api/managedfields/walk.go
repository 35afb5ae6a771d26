package managedfields

import (
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// difference is what distinguishes two objects.
type difference struct {
	changed *fieldpath.Set // is other, or new
	removed *fieldpath.Set
}

// giveUp is the panic of a walk that met what it has no rule for. It stays within
// the package.
type giveUp struct{}

// walk is a comparison under way.
type walk struct {
	schema *schema.Schema
	path   fieldpath.Path
	unique bool // an item that is in a list twice does not fit the schema, even within what is owned as a whole
	difference
}

// comparer walks two objects of a kind at once.
type comparer interface {
	compare(w *walk, live, obj runtime.Object)
}

// compare returns the differences between a new object and the live one. ok is false if one of them does not match the
// schema, or in an unsupported way. It skips kind, version and managed fields, which have no owners.
func (r *root) compare(live, obj runtime.Object) (d *difference, ok bool) {
	w := walk{schema: r.empty.Schema(), path: make(fieldpath.Path, 0, 16), difference: difference{fieldpath.NewSet(),
		fieldpath.NewSet()}}
	defer func() {
		if e := recover(); e != nil {
			if _, mine := e.(giveUp); !mine {
				panic(e)
			}
			d, ok = nil, false
		}
	}()
	r.comparer.compare(&w, live, obj)
	return &w.difference, true
}

func (w *walk) fail() { panic(giveUp{}) }

func (w *walk) modified() { w.changed.Insert(w.path) }

// here returns the node of a set for the present path, to which children are
// added.
func (w *walk) here(s *fieldpath.Set) *fieldpath.Set {
	for _, pe := range w.path {
		s = s.Children.Descend(pe)
	}
	return s
}

// items is what a walk does with the items of two lists, which it knows by their
// place.
type items struct {
	both    func(l, r int)
	added   func(s *fieldpath.Set, r int) // enters what is below
	removed func(s *fieldpath.Set, l int)
}

// list compares two lists whose items have identities. Items that are there
// twice are owned by rules that are left to the library.
func (w *walk) list(l, r []fieldpath.PathElement, do items) {
	lo, ro := w.inOrder(l), w.inOrder(r)
	if len(l) == len(r) && samePlaces(l, r) {
		for k := range r {
			i := ro.at(k)
			w.path = append(w.path, r[i])
			do.both(i, i)
			w.path = w.path[:len(w.path)-1]
		}
		return
	}
	find := places(l, lo)
	met := make([]bool, len(l))
	for k := range r {
		j := ro.at(k)
		pe := r[j]
		if i, ok := find(pe); ok {
			met[i] = true
			w.path = append(w.path, pe)
			do.both(i, j)
			w.path = w.path[:len(w.path)-1]
			continue
		}
		s := w.here(w.changed)
		s.Members.Insert(pe)
		do.added(s, j)
	}
	for k := range l {
		if i := lo.at(k); !met[i] {
			s := w.here(w.difference.removed)
			s.Members.Insert(l[i])
			do.removed(s, i)
		}
	}
}

// addItems enters the items of a list that has no counterpart.
func (w *walk) addItems(s *fieldpath.Set, items []fieldpath.PathElement, add func(i int)) {
	order := w.inOrder(items)
	for k := range items {
		i := order.at(k)
		s.Members.Insert(items[i])
		add(i)
	}
}

func samePlaces(l, r []fieldpath.PathElement) bool {
	for i := range l {
		if !l[i].Equals(r[i]) {
			return false
		}
	}
	return true
}

const (
	// fewItems are searched one by one.
	fewItems = 8
	// fewInserts are entered into a set in any order. The library's sets are sorted lists:
	// entering many in another order than theirs takes time with the square of their number.
	fewInserts = 64
)

// order is the order in which items are entered into a set; nil is that of the list.
type order []int

func (o order) at(k int) int {
	if o == nil {
		return k
	}
	return o[k]
}

// inOrder returns the order of items in sets. It gives up where an identity is there twice.
func (w *walk) inOrder(items []fieldpath.PathElement) order {
	if len(items) <= fewItems {
		for i := range items {
			if slices.ContainsFunc(items[:i], items[i].Equals) {
				w.fail()
			}
		}
		return nil
	}
	o := make(order, len(items))
	for i := range o {
		o[i] = i
	}
	slices.SortFunc(o, func(i, j int) int { return items[i].Compare(items[j]) })
	for k := 1; k < len(o); k++ {
		if items[o[k-1]].Equals(items[o[k]]) {
			w.fail()
		}
	}
	return o
}

// places returns what finds the place of an identity.
func places(items []fieldpath.PathElement, o order) func(fieldpath.PathElement) (int, bool) {
	if o == nil {
		return func(pe fieldpath.PathElement) (int, bool) {
			i := slices.IndexFunc(items, pe.Equals)
			return i, i >= 0
		}
	}
	return func(pe fieldpath.PathElement) (int, bool) {
		k, ok := slices.BinarySearchFunc(o, pe, func(i int, pe fieldpath.PathElement) int { return items[i].Compare(pe) })
		if !ok {
			return 0, false
		}
		return o[k], true
	}
}

// fieldsOf yields the fields of a map, many of them in the order of sets.
func fieldsOf(m map[string]any) iter.Seq2[string, any] {
	if len(m) <= fewInserts {
		return maps.All(m)
	}
	return func(yield func(string, any) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// entriesOfMap yields the entries of a map with texts as keys, many of them in the order of sets.
func entriesOfMap(m reflect.Value) iter.Seq2[reflect.Value, reflect.Value] {
	if m.Len() <= fewInserts {
		return m.Seq2()
	}
	return func(yield func(k, v reflect.Value) bool) {
		keys := m.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			if !yield(k, m.MapIndex(k)) {
				return
			}
		}
	}
}

// keyElement is the identity of an item with these keys, some of which may be
// absent but not all.
func (w *walk) keyElement(fields value.FieldList) fieldpath.PathElement {
	if len(fields) == 0 {
		w.fail()
	}
	fields.Sort()
	return fieldpath.PathElement{Key: &fields}
}
