package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane/generic/api/rest"
)

// WithStatus returns a kind whose fields "spec" and "status" are those of the API conventions: clients
// write the spec, controllers the status through the subresource "status", and neither changes the
// other. metadata.generation counts the changes of the spec. What the declaration does in
// PrepareForCreate and PrepareForUpdate comes afterwards; further rules for the status can be set in
// the Status of the result.
func WithStatus[T Object, Spec, Status any](kind Kind[T], spec func(T) *Spec, status func(T) *Status) Kind[T] {
	create, update := kind.Write.PrepareForCreate, kind.Write.PrepareForUpdate
	kind.Write.PrepareForCreate = func(ctx context.Context, obj T) {
		*status(obj) = *new(Status)
		obj.SetGeneration(1)
		if create != nil {
			create(ctx, obj)
		}
	}
	kind.Write.PrepareForUpdate = func(ctx context.Context, obj, old T) {
		*status(obj) = *status(old)
		if update != nil {
			update(ctx, obj, old)
		}
		obj.SetGeneration(old.GetGeneration())
		if !equality.Semantic.DeepEqual(spec(obj), spec(old)) {
			obj.SetGeneration(old.GetGeneration() + 1)
		}
	}
	kind.Write.ResetFields = everywhere(&kind, "status")
	kind.Status = &Subresource[T]{
		ResetFields: everywhere(&kind, "spec"),
		PrepareForUpdate: func(_ context.Context, obj, old T) {
			*spec(obj) = *spec(old)
			keepMetadata(obj, old)
		},
	}
	return kind
}

// keepMetadata puts back the metadata that clients write.
func keepMetadata(obj, old metav1.Object) {
	obj.SetGeneration(old.GetGeneration())
	obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	obj.SetLabels(old.GetLabels())
	obj.SetAnnotations(old.GetAnnotations())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetFinalizers(old.GetFinalizers())
}

// everywhere is a field in all versions of a kind.
func everywhere[T Object](kind *Kind[T], name string) rest.ResetFields {
	versions := []schema.GroupVersion{kind.Hub.GroupVersion()}
	if typed, ok := kind.Representation.(Typed[T]); ok {
		for _, v := range typed.Versions {
			versions = append(versions, v.Kind.GroupVersion())
		}
	}
	fields := rest.ResetFields{}
	for _, gv := range versions {
		fields[gv] = fieldpath.NewSet(fieldpath.MakePathOrDie(name))
	}
	return fields
}
