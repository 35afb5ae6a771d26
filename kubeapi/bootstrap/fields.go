package bootstrap

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane.dev/kubeapi/group"
)

// owned returns the managed fields of an object that manager wrote: the leaves
// of paths, each a list of field names; a path that ends in "." owns the field
// itself.
func owned(manager, apiVersion string, paths ...[]string) []metav1.ManagedFieldsEntry {
	set := fieldpath.NewSet()
	for _, p := range paths {
		var path fieldpath.Path
		for _, name := range p {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	raw, err := set.ToJSON()
	if err != nil {
		return nil
	}
	return []metav1.ManagedFieldsEntry{group.Written(manager, apiVersion, string(raw))}
}

// metaPaths are the paths of labels and annotations.
func metaPaths(m *metav1.ObjectMeta) [][]string {
	var paths [][]string
	for field, values := range map[string]map[string]string{"labels": m.Labels, "annotations": m.Annotations} {
		if len(values) == 0 {
			continue
		}
		paths = append(paths, []string{"metadata", field})
		for k := range values {
			paths = append(paths, []string{"metadata", field, k})
		}
	}
	return paths
}

// present keeps the paths that lead to something in the object. Structures that
// are owned through their members are given with their members.
func present(obj any, paths ...[]string) [][]string {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil
	}
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	if d.Decode(&doc) != nil {
		return nil
	}
	var out [][]string
	for _, p := range paths {
		var at any = doc
		for _, name := range p {
			m, _ := at.(map[string]any)
			at = m[name]
		}
		if at != nil {
			out = append(out, p)
		}
	}
	return out
}
