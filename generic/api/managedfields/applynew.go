package managedfields

import (
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// applyNew is the short way of an Apply that creates an object of a Go type. There are no other owners and nothing to
// merge with: the object is the applied document, and its manager owns the fields of the document. It returns false,
// and has changed nothing, where only the library knows what to do.
func (m *Manager) applyNew(live, applied runtime.Object, manager string) (runtime.Object, bool) {
	document, ok := applied.(*unstructured.Unstructured)
	if !ok || !m.creates(live, document) || manager == "" || !utf8.ValidString(manager) || large(document) {
		return nil, false
	}
	value, err := m.options.Types.ObjectToTyped(document)
	if err != nil {
		return nil, false
	}
	fields, err := value.ToFieldSet()
	if err != nil {
		return nil, false
	}
	if f := m.options.Ignore; f != nil {
		fields = f.Filter(fields)
	}
	var owners []owner
	if fields = fields.Difference(stripped); !fields.Empty() {
		known, ok := m.sets.encode(fields)
		if !ok {
			return nil, false
		}
		now := metav1.NewTime(time.Now().UTC())
		owners = []owner{{metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: m.options.Kind.GroupVersion().String(), Time: &now, FieldsType: "FieldsV1"}, known}}
	}
	entries, ok := encodeEntries(owners)
	if !ok {
		return nil, false
	}
	obj, err := m.options.Created(document)
	if err != nil {
		return nil, false
	}
	after, err := meta.Accessor(obj)
	if err != nil {
		return nil, false
	}
	after.SetManagedFields(entries)
	return obj, true
}

// creates reports whether the live object is an empty one, and the document of the kind of the Manager.
func (m *Manager) creates(live runtime.Object, document *unstructured.Unstructured) bool {
	if m.options.Created == nil || m.options.Subresource != "" || !m.view.Typed() || !m.knows(live) {
		return false
	}
	before, err := meta.Accessor(live)
	if err != nil || before.GetName() != "" || before.GetUID() != "" || len(before.GetManagedFields()) > 0 {
		return false
	}
	_, managed, err := unstructured.NestedFieldNoCopy(document.Object, "metadata", "managedFields")
	return err == nil && !managed && document.GetName() != "" && document.GroupVersionKind() == m.options.Kind
}
