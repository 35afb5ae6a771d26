package apiserver

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane/generic/api/rest"
)

// WithStatus returns a kind whose fields "spec" and "status" follow the API conventions. Updates of the resource
// do not change the status, and updates of the subresource "status" do not change the spec. metadata.generation
// counts changes of the spec. The declaration's PrepareForCreate and PrepareForUpdate run afterwards. Further
// rules for the status can be set in the Status of the result.
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

// keepMetadata resets the metadata that clients may write.
func keepMetadata(obj, old metav1.Object) {
	obj.SetGeneration(old.GetGeneration())
	obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	obj.SetLabels(old.GetLabels())
	obj.SetAnnotations(old.GetAnnotations())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetFinalizers(old.GetFinalizers())
}

// everywhere returns a field in all versions of a kind.
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
