package managedfields

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// create is the short way of an Update that creates an object: its manager owns all of its fields. It returns false,
// and has changed nothing, where only the library knows what to do.
func (m *Manager) create(r *root, obj runtime.Object, manager string) bool {
	o, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	entries, ok := m.only(r, obj, manager, metav1.ManagedFieldsOperationUpdate)
	if ok {
		o.SetManagedFields(entries)
	}
	return ok
}

// only returns the managed fields of a new object that has one manager.
func (m *Manager) only(r *root, obj runtime.Object, manager string,
	op metav1.ManagedFieldsOperationType) ([]metav1.ManagedFieldsEntry, bool) {
	entry, ok := m.entryOf(manager, op)
	if !ok {
		return nil, false
	}
	entry.FieldsV1, ok = r.owned(obj, m.unowned, op == metav1.ManagedFieldsOperationApply)
	if !ok || entry.FieldsV1 == nil {
		return nil, ok
	}
	return []metav1.ManagedFieldsEntry{entry}, true
}

// applyNew is the short way of an Apply that creates an object of a Go type. There are no other owners and nothing to
// merge with: the object is the applied document, and its manager owns the fields of the document. It returns false,
// and has changed nothing, where only the library knows what to do.
func (m *Manager) applyNew(live, applied runtime.Object, manager string) (runtime.Object, bool) {
	document, ok := applied.(*unstructured.Unstructured)
	if !ok || !m.creates(live, document) || manager == "" || large(document) {
		return nil, false
	}
	r := m.prepare()
	if r == nil {
		return nil, false
	}
	entries, ok := m.only(r, document, manager, metav1.ManagedFieldsOperationApply)
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
