package managedfields

import (
	"slices"

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
	difference
}

// comparer walks two objects of a kind at once.
type comparer interface {
	compare(w *walk, live, obj runtime.Object)
}

// compare finds out what distinguishes a new object from the live one; it fails
// where one of them does not fit the schema, or not in a way that it knows. What
// says kind and version is not looked at, nor are managed fields: nobody owns
// them.
func (r *root) compare(live, obj runtime.Object) (d *difference, ok bool) {
	w := walk{schema: r.empty.Schema(), path: make(fieldpath.Path, 0, 16), difference: difference{fieldpath.NewSet(), fieldpath.NewSet()}}
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
// twice are owned in a way of their own, which is left to the library.
func (w *walk) list(l, r []fieldpath.PathElement, do items) {
	if repeated(l) || repeated(r) {
		w.fail()
	}
	if len(l) == len(r) && samePlaces(l, r) {
		for i, pe := range r {
			w.path = append(w.path, pe)
			do.both(i, i)
			w.path = w.path[:len(w.path)-1]
		}
		return
	}
	find := places(l)
	met := make([]bool, len(l))
	for j, pe := range r {
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
	for i, pe := range l {
		if !met[i] {
			s := w.here(w.difference.removed)
			s.Members.Insert(pe)
			do.removed(s, i)
		}
	}
}

// addItems enters the items of a list that has no counterpart.
func (w *walk) addItems(s *fieldpath.Set, items []fieldpath.PathElement, add func(i int)) {
	if repeated(items) {
		w.fail()
	}
	for i, pe := range items {
		s.Members.Insert(pe)
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

// fewItems are searched one by one.
const fewItems = 8

// repeated reports whether an identity is there twice.
func repeated(items []fieldpath.PathElement) bool {
	if len(items) > fewItems {
		seen := fieldpath.MakePathElementSet(len(items))
		for _, pe := range items {
			seen.Insert(pe)
		}
		return seen.Size() < len(items)
	}
	for i := range items {
		for j := range i {
			if items[i].Equals(items[j]) {
				return true
			}
		}
	}
	return false
}

// places returns what finds the place of an identity.
func places(items []fieldpath.PathElement) func(fieldpath.PathElement) (int, bool) {
	if len(items) <= fewItems {
		return func(pe fieldpath.PathElement) (int, bool) {
			i := slices.IndexFunc(items, pe.Equals)
			return i, i >= 0
		}
	}
	m := fieldpath.MakePathElementMap(len(items))
	for i, pe := range items {
		m.Insert(pe, i)
	}
	return func(pe fieldpath.PathElement) (int, bool) {
		at, ok := m.Get(pe)
		i, _ := at.(int)
		return i, ok
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
