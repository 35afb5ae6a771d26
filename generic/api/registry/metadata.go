package registry

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/request"
)

const (
	generatedSuffix  = 5
	maxGeneratedBase = 63 - generatedSuffix
	// nameAttempts is how many generated names are tried.
	nameAttempts = 8
)

// generateName makes a name of a prefix.
func generateName(prefix string) string {
	if len(prefix) > maxGeneratedBase {
		prefix = prefix[:maxGeneratedBase]
	}
	return prefix + rand.String(generatedSuffix)
}

// newName makes a name of a prefix as the kind does.
func (s *Store[T]) newName(prefix string) string {
	if s.kind.Write.GenerateName != nil {
		return s.kind.Write.GenerateName(prefix)
	}
	return generateName(prefix)
}

// fillSystemMetadata sets what the server decides about a new object and drops
// what clients may not set.
func fillSystemMetadata(obj metav1.Object) {
	obj.SetCreationTimestamp(metav1.Now())
	obj.SetUID(uuid.NewUUID())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	if obj.GetSelfLink() != "" {
		obj.SetSelfLink("")
	}
}

// ensureNamespace takes over the request's namespace, which an object may not
// contradict; cluster-scoped objects have none.
func (s *Store[T]) ensureNamespace(ctx context.Context, obj metav1.Object) error {
	want := ""
	if s.kind.Namespaced {
		if want = request.NamespaceFrom(ctx); want == "" {
			return apierrors.NewBadRequest("Namespace parameter required.")
		}
	}
	switch got := obj.GetNamespace(); {
	case got == want:
	case got == "" || want == "":
		obj.SetNamespace(want)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// nameRule is how the kind validates names.
func (s *Store[T]) nameRule() apivalidation.ValidateNameFunc {
	if s.kind.Write.ValidateName != nil {
		return s.kind.Write.ValidateName
	}
	return apivalidation.NameIsDNSSubdomain
}

var metadataPath = field.NewPath("metadata")

// validateMetadata validates metadata as the kind does.
func (s *Store[T]) validateMetadata(obj metav1.Object) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(obj, s.kind.Namespaced, s.nameRule(), metadataPath)
	return append(errs, s.validateFinalizers(obj)...)
}

// validateFinalizers wants finalizers to name who they are of.
func (s *Store[T]) validateFinalizers(obj metav1.Object) (errs field.ErrorList) {
	if s.form.metadataRules().anyFinalizer {
		return nil
	}
	for i, f := range obj.GetFinalizers() {
		if !strings.Contains(f, "/") && !standardFinalizer(f) {
			errs = append(errs, field.Invalid(metadataPath.Child("finalizers").Index(i), f,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// validatePathMetadata validates metadata by the rules that hold for every kind.
func (s *Store[T]) validatePathMetadata(obj metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(obj, s.kind.Namespaced, path.ValidatePathSegmentName, metadataPath)
}

func standardFinalizer(f string) bool {
	return f == "kubernetes" || f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
}

// validateMetadataUpdate validates the metadata of an update, through a subresource
// unless main. The generic rules and the kind's are both reported, as
// kube-apiserver does, which repeats causes.
func (s *Store[T]) validateMetadataUpdate(obj, old metav1.Object, main bool) field.ErrorList {
	obj = s.form.view().Metadata(obj)
	rules := s.form.metadataRules()
	how := rules.onStatus
	if main {
		how = rules.onUpdate
	}
	change := apivalidation.ValidateObjectMetaAccessorUpdate(obj, old, metadataPath)
	errs := append(s.validatePathMetadata(obj), change...)
	if how == MetadataWhole || how == MetadataChange {
		errs = append(errs, change...)
		errs = append(errs, s.validateFinalizers(obj)...)
	}
	if how == MetadataWhole || how == MetadataCreate || how == MetadataTwice {
		errs = append(errs, s.validateMetadata(obj)...)
	}
	if how == MetadataTwice {
		errs = append(errs, s.validateMetadata(obj)...)
	}
	return errs
}

// keepSystemMetadata puts back the metadata that an update may not change, or
// may leave out.
func keepSystemMetadata(obj, old metav1.Object) {
	if obj.GetUID() == "" {
		obj.SetUID(old.GetUID())
	}
	if created := old.GetCreationTimestamp(); !created.IsZero() {
		obj.SetCreationTimestamp(created)
	}
	if deleted := old.GetDeletionTimestamp(); !deleted.IsZero() {
		obj.SetDeletionTimestamp(deleted)
	}
	if grace := old.GetDeletionGracePeriodSeconds(); grace != nil && obj.GetDeletionGracePeriodSeconds() == nil {
		obj.SetDeletionGracePeriodSeconds(grace)
	}
	if obj.GetSelfLink() != "" {
		obj.SetSelfLink("")
	}
}
