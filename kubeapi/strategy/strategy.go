package strategy

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane/generic/api/rest"
)

// Generation raises the generation of obj beyond old's if changed, and else
// keeps it.
func Generation(obj, old metav1.Object, changed bool) {
	g := old.GetGeneration()
	if changed {
		g++
	}
	obj.SetGeneration(g)
}

// KeepMetadata puts back the metadata that clients write, for subresources that
// leave it alone.
func KeepMetadata(obj, old metav1.Object) {
	obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	obj.SetLabels(old.GetLabels())
	obj.SetAnnotations(old.GetAnnotations())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetFinalizers(old.GetFinalizers())
}

// KeepAllMetadata puts back everything but who manages which fields.
func KeepAllMetadata(m *metav1.ObjectMeta, old metav1.ObjectMeta) {
	managed, version := m.ManagedFields, m.ResourceVersion
	old.DeepCopyInto(m)
	m.ManagedFields, m.ResourceVersion = managed, version
}

// Reset names the fields that an endpoint resets, in one version: "spec", or
// "metadata.labels" for one within another.
func Reset(gv schema.GroupVersion, fields ...string) rest.ResetFields {
	set := fieldpath.NewSet()
	for _, f := range fields {
		var path fieldpath.Path
		for name := range strings.SplitSeq(f, ".") {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	return rest.ResetFields{gv: set}
}

// Also adds the fields that are reset in another version.
func Also(r rest.ResetFields, more rest.ResetFields) rest.ResetFields {
	for gv, s := range more {
		r[gv] = s
	}
	return r
}
