package customresource

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// prepare runs change on an object of the hub and on what it replaces, nil for a new one.
// Where a webhook converts, change sees both in the version of the request. What the webhook
// then adds on the way to the storage version, such as a status, is not what the client sent.
func (d *Definition) prepare(ctx context.Context, obj, old object, change func(obj, old object)) error {
	v := d.requested(ctx)
	if !v.byWebhook() || obj.GroupVersionKind() != d.storage.gvk { // validation rejects an object of another kind
		change(obj, old)
		return nil
	}
	objs := []object{obj}
	if old != nil {
		objs = append(objs, old)
	}
	shown, err := v.show(objs...)
	if err != nil {
		return err
	}
	var before object
	if old != nil {
		before = shown[1]
	}
	sent := shown[0].DeepCopy()
	change(shown[0], before)
	generation := shown[0].GetGeneration()
	sent.SetGeneration(generation)
	if !equality.Semantic.DeepEqual(sent.Object, shown[0].Object) {
		stored, err := v.codec.convertAll(shown[:1], d.storage)
		if err != nil {
			return err
		}
		obj.Object = stored[0].Object
	}
	obj.SetGeneration(generation)
	return nil
}

// prepareWrite resets the status of a write of the main resource, and counts the generation.
func (d *Definition) prepareWrite(ctx context.Context, obj, old object) {
	if d.requested(ctx).hasStatus() {
		delete(obj.Object, "status")
	}
	if old == nil {
		obj.SetGeneration(1)
		return
	}
	if status, ok := old.Object["status"]; ok && d.requested(ctx).hasStatus() {
		obj.Object["status"] = status
	}
	obj.SetGeneration(old.GetGeneration())
	if !d.requested(ctx).same(obj, old) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// same reports whether two objects of the hub have the same content for clients of the
// version: what that has no place for does not count.
func (v *Version) same(a, b object) bool {
	if sameContent(a.Object, b.Object) {
		return true
	}
	if v == v.definition.storage {
		return false
	}
	shown, err := v.show(a, b)
	return err == nil && sameContent(shown[0].Object, shown[1].Object)
}

// show returns copies of objects of the hub as clients of the version see them.
func (v *Version) show(objs ...object) ([]object, error) {
	skeleton, err := v.skeleton()
	if err != nil {
		return nil, err
	}
	copies := make([]object, len(objs))
	for i, o := range objs {
		copies[i] = o.DeepCopy()
	}
	shown, err := v.codec.convertAll(copies, v)
	if err != nil {
		return nil, err
	}
	for _, o := range shown {
		fit(o.Object, skeleton)
	}
	return shown, nil
}

// sameContent compares all but the metadata.
func sameContent(a, b map[string]any) bool {
	count := func(m map[string]any) int {
		if _, ok := m["metadata"]; ok {
			return len(m) - 1
		}
		return len(m)
	}
	if count(a) != count(b) {
		return false
	}
	for name, v := range a {
		if w, ok := b[name]; name != "metadata" && (!ok || !equality.Semantic.DeepEqual(v, w)) {
			return false
		}
	}
	return true
}

// prepareForStatusUpdate puts back all but the status, and managed fields, which
// record the change.
func prepareForStatusUpdate(_ context.Context, obj, old object) {
	status, found := obj.Object["status"]
	managed := obj.GetManagedFields()
	version := obj.GetResourceVersion()
	restored := maps.Clone(old.Object)
	if found {
		restored["status"] = status
	} else {
		delete(restored, "status")
	}
	obj.Object = (&unstructured.Unstructured{Object: restored}).DeepCopy().Object
	obj.SetManagedFields(managed)
	obj.SetResourceVersion(version)
}
