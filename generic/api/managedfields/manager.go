package managedfields

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"triplane.dev/generic/storage/object"
)

// Options is what a Manager needs besides the library's manager.
type Options struct {
	// Library does what the Manager does not.
	Library *library.FieldManager
	// LibraryOf returns another Library, of other types. If it is nil, work on large objects
	// does not end before it is done.
	LibraryOf func(types library.TypeConverter) (*library.FieldManager, error)
	Types     library.TypeConverter
	// Kind is the kind in the version of requests.
	Kind        schema.GroupVersionKind
	Subresource string
	// Reset has the fields that this resource never owns; may be nil.
	Reset *fieldpath.Set
	// New returns an empty object of the kind in the version of requests.
	New func() runtime.Object
	// Created returns the object that an applied document creates, with defaults and in the version of objects behind the
	// handlers. Nil leaves all applies to the library.
	Created func(document runtime.Object) (runtime.Object, error)
}

// Manager keeps the managed fields of a kind in one version. It is safe for
// concurrent use.
type Manager struct {
	options Options
	view    object.View
	goType  reflect.Type // of all objects
	sets    setCache
	ignore  fieldpath.Filter // of Options.Reset; may be nil
	unowned *fieldpath.Set   // has what is below it as well

	once sync.Once
	root *root // nil where every update is the library's
}

// root is how to walk objects of the kind.
type root struct {
	empty    *typed.TypedValue // brings the schema
	comparer comparer
}

// New returns a Manager.
func New(o Options) *Manager {
	m := &Manager{options: o}
	obj := o.New()
	m.view, m.goType, m.unowned = object.ViewOf(obj), reflect.TypeOf(obj), stripped.Difference(onlyMetadata)
	if o.Reset != nil {
		m.ignore, m.unowned = fieldpath.NewExcludeSetFilter(o.Reset), m.unowned.Union(o.Reset)
	}
	return m
}

// maxUpdaters is how many owners by update an object may have; the library merges
// the oldest of more.
const maxUpdaters = 10

// stripped are the fields without owners.
var stripped = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "creationTimestamp"),
	fieldpath.MakePathOrDie("metadata", "selfLink"),
	fieldpath.MakePathOrDie("metadata", "uid"),
	fieldpath.MakePathOrDie("metadata", "clusterName"),
	fieldpath.MakePathOrDie("metadata", "generation"),
	fieldpath.MakePathOrDie("metadata", "managedFields"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)

// onlyMetadata has no owner itself, but what is below it has.
var onlyMetadata = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"))

// Apply merges what a manager wants into the live object; see the library's. It ends with ctx.
func (m *Manager) Apply(ctx context.Context, live, applied runtime.Object, manager string,
	force bool) (obj runtime.Object, err error) {
	defer func() {
		if end := ended(recover()); end != nil {
			obj, err = nil, end
		}
	}()
	if obj, ok := m.applyNew(live, applied, manager); ok {
		return obj, nil
	}
	return m.library(ctx, live, applied).Apply(tracked(tracked(live, tooMuch), malformed), applied, manager, force)
}

// Update records in the new object who owns what, now that manager has made it
// of the live one. It changes the new object and returns it. Where fields cannot
// be tracked, or not before ctx ends, the object has no managed fields afterwards.
func (m *Manager) Update(ctx context.Context, live, obj runtime.Object, manager string) (result runtime.Object) {
	if !object.Typed(obj) && obj.GetObjectKind().GroupVersionKind().Kind != m.options.Kind.Kind {
		return untracked(obj)
	}
	live = drop(live, obj, tooMuch)
	if m.update(live, obj, manager) {
		return obj
	}
	live = drop(live, obj, malformed)
	defer func() {
		if ended(recover()) != nil {
			result = untracked(obj)
		}
	}()
	obj = m.library(ctx, live, obj).UpdateNoErrors(live, obj, manager)
	m.dropOtherGroups(obj)
	return obj
}

// untracked is an object that is not of the kind whose fields are known.
func untracked(obj runtime.Object) runtime.Object {
	if o, err := meta.Accessor(obj); err == nil {
		o.SetManagedFields(nil)
	}
	return obj
}

// maxEntries bounds the entries that a client may send: the library takes time with
// the square of their number, a minute with what fits into a request. Objects have
// a dozen.
const maxEntries = 1000

// maxUnordered is how many bytes a set may have that is in another order than the library's, which
// takes time with the square of what is in it.
const maxUnordered = 64 << 10

// tooMuch reports entries whose decoding would take too long.
func tooMuch(entries []metav1.ManagedFieldsEntry) bool {
	return len(entries) > maxEntries || slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.FieldsV1 != nil && len(e.FieldsV1.GetRawBytes()) > maxUnordered && !ordered(e.FieldsV1.GetRawBytes())
	})
}

// malformed reports sets that are no JSON, or begin with white space, at which the library
// panics. Protobuf can bring them.
func malformed(entries []metav1.ManagedFieldsEntry) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		if e.FieldsV1 == nil {
			return false
		}
		raw := e.FieldsV1.GetRawBytes()
		return len(raw) == 0 || raw[0] <= ' ' || !json.Valid(raw)
	})
}

// drop removes entries that cannot be tracked from an object that a client sent, so that those
// of the live object count. It returns the live object, as tracked does.
func drop(live, obj runtime.Object, untrackable func([]metav1.ManagedFieldsEntry) bool) runtime.Object {
	if after, err := meta.Accessor(obj); err == nil && untrackable(after.GetManagedFields()) {
		after.SetManagedFields(nil)
	}
	return tracked(live, untrackable)
}

// tracked returns the live object, or a copy without its entries if they cannot be tracked:
// another server stored them.
func tracked(live runtime.Object, untrackable func([]metav1.ManagedFieldsEntry) bool) runtime.Object {
	before, err := meta.Accessor(live)
	if err != nil || !untrackable(before.GetManagedFields()) {
		return live
	}
	live = live.DeepCopyObject()
	if before, err = meta.Accessor(live); err == nil {
		before.SetManagedFields(nil)
	}
	return live
}

// dropOtherGroups drops the entries of another group: a kind that two groups show
// (Event) has no version in which one of them sees the fields of the other.
func (m *Manager) dropOtherGroups(obj runtime.Object) {
	o, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	o.SetManagedFields(slices.DeleteFunc(o.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		gv, err := schema.ParseGroupVersion(e.APIVersion)
		return err != nil || gv.Group != m.options.Kind.Group
	}))
}

// update is the short way. It returns false, and has changed nothing, where only
// the library knows what to do.
func (m *Manager) update(live, obj runtime.Object, manager string) bool {
	if !m.knows(live) || !m.knows(obj) {
		return false
	}
	before, err := meta.Accessor(live)
	if err != nil {
		return false
	}
	after, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	r := m.prepare()
	if r == nil {
		return false
	}
	entries := m.entries(before, after)
	if len(entries) == 0 && before.GetUID() != "" {
		// Nobody keeps fields of the object, and an update does not begin to.
		after.SetManagedFields(nil)
		return true
	}
	if len(entries) == 0 && before.GetName() == "" {
		return m.create(r, obj, manager)
	}
	owners, ok := m.owners(r, entries)
	if !ok {
		return false
	}
	d, ok := r.compare(live, obj)
	if !ok {
		return false
	}
	if entries, ok = m.record(owners, d, manager); !ok {
		return false
	}
	after.SetManagedFields(entries)
	return true
}

// knows reports whether an object is of the version of requests.
func (m *Manager) knows(obj runtime.Object) bool {
	return m.view.Is(obj, m.options.Kind, m.goType)
}

func (m *Manager) prepare() *root {
	m.once.Do(func() {
		obj := m.options.New()
		obj.GetObjectKind().SetGroupVersionKind(m.options.Kind)
		empty, err := m.options.Types.ObjectToTyped(obj, typed.AllowDuplicates)
		if err != nil {
			return
		}
		if c := m.comparer(empty); c != nil {
			m.root = &root{empty: empty, comparer: c}
		}
	})
	return m.root
}

// comparer returns how objects of the kind are walked, nil where only the library
// can.
func (m *Manager) comparer(empty *typed.TypedValue) comparer {
	if !m.view.Typed() {
		return byTree{ref: empty.TypeRef()}
	}
	planOf := planOf
	if p, ok := m.options.Types.(*Planned); ok {
		planOf = p.plan
	}
	plan := planOf(m.goType, empty)
	if plan.kind != structure {
		return nil
	}
	return byPlan{plan}
}

// entries are the managed fields that count before the write: what the new
// object says, as clients may change it, else what the live one does. Through a
// subresource none of them changes.
func (m *Manager) entries(live, obj metav1.Object) []metav1.ManagedFieldsEntry {
	if m.options.Subresource == "" {
		entries := obj.GetManagedFields()
		if isReset(entries) {
			return nil
		}
		if len(entries) > 0 {
			return entries
		}
	}
	return live.GetManagedFields()
}

// isReset reports whether a client wants all managed fields forgotten.
func isReset(entries []metav1.ManagedFieldsEntry) bool {
	if len(entries) == 0 {
		return entries != nil
	}
	return len(entries) == 1 && reflect.ValueOf(&entries[0]).Elem().IsZero()
}

// owner is a decoded entry.
type owner struct {
	entry metav1.ManagedFieldsEntry
	set   *knownSet
}

// owners decodes entries that are plain: each of another owner, of the version
// of requests, and with fields.
func (m *Manager) owners(r *root, entries []metav1.ManagedFieldsEntry) ([]owner, bool) {
	owners := make([]owner, len(entries), len(entries)+1)
	version := m.options.Kind.GroupVersion().String()
	for i := range entries {
		e := &entries[i]
		if e.APIVersion != version || e.FieldsType != "FieldsV1" || e.FieldsV1 == nil || !utf8.ValidString(e.Manager) ||
			!utf8.ValidString(e.Subresource) {
			return nil, false
		}
		if e.Operation != metav1.ManagedFieldsOperationApply && e.Operation != metav1.ManagedFieldsOperationUpdate {
			return nil, false
		}
		if slices.ContainsFunc(owners[:i], func(o owner) bool { return sameOwner(&o.entry, e) }) {
			return nil, false
		}
		set, ok := m.sets.decode(r, e.FieldsV1.GetRawBytes())
		if !ok {
			return nil, false
		}
		owners[i] = owner{*e, set}
	}
	return owners, true
}

func sameOwner(a, b *metav1.ManagedFieldsEntry) bool {
	return a.Manager == b.Manager && a.Operation == b.Operation && a.Subresource == b.Subresource
}

// record takes what has changed from its owners and gives it to the manager.
// What only was removed has no owner any more.
func (m *Manager) record(owners []owner, d *difference, manager string) ([]metav1.ManagedFieldsEntry, bool) {
	if f := m.ignore; f != nil {
		d.changed, d.removed = f.Filter(d.changed), f.Filter(d.removed)
	}
	own := d.changed.Difference(stripped)
	self, ok := m.entryOf(manager, metav1.ManagedFieldsOperationUpdate)
	if !ok {
		return nil, false
	}
	found := false
	kept := owners[:0]
	for i := range owners {
		o := owners[i]
		// No set holds what is stripped: own is all that it can share with what
		// has changed.
		set := o.set.fields
		switch {
		case own.Empty():
		case sameOwner(&o.entry, &self):
			found = true
			o.entry.Time = self.Time
			if !own.Difference(set).Empty() {
				set = set.Union(own)
			}
		default:
			set = set.Difference(own)
		}
		if !d.removed.Empty() {
			set = set.Difference(d.removed)
		}
		if set.Empty() {
			continue
		}
		if set != o.set.fields && !set.Equals(o.set.fields) {
			known, ok := m.sets.encode(set)
			if !ok {
				return nil, false
			}
			o.set = known
		}
		kept = append(kept, o)
	}
	if !found && !own.Empty() {
		known, ok := m.sets.encode(own)
		if !ok {
			return nil, false
		}
		kept = append(kept, owner{self, known})
	}
	return encodeEntries(kept)
}

// entryOf returns the entry of a manager that writes now, without its fields. ok is false for a name that is no text.
func (m *Manager) entryOf(manager string, op metav1.ManagedFieldsOperationType) (e metav1.ManagedFieldsEntry, ok bool) {
	if manager == "" {
		manager = "unknown"
	}
	now, version := metav1.NewTime(time.Now().UTC()), m.options.Kind.GroupVersion().String()
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: op, APIVersion: version, Time: &now,
		FieldsType: "FieldsV1", Subresource: m.options.Subresource}, utf8.ValidString(manager)
}

// encodeEntries returns the entries in the order that they have in objects.
func encodeEntries(owners []owner) ([]metav1.ManagedFieldsEntry, bool) {
	if len(owners) == 0 {
		return nil, true
	}
	updaters := 0
	entries := make([]metav1.ManagedFieldsEntry, len(owners))
	for i := range owners {
		entries[i] = owners[i].entry
		// The bytes are the cache's; whoever gets the object may change it.
		entries[i].FieldsV1 = &metav1.FieldsV1{}
		entries[i].FieldsV1.SetRawBytes(bytes.Clone(owners[i].set.encoded))
		if entries[i].Operation == metav1.ManagedFieldsOperationUpdate {
			updaters++
		}
	}
	if updaters > maxUpdaters {
		return nil, false
	}
	slices.SortFunc(entries, compareEntries)
	return entries, true
}
