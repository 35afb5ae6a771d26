package kind

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
)

// generateName makes a name of a prefix.
func generateName(prefix string) string {
	if len(prefix) > maxGeneratedBase {
		prefix = prefix[:maxGeneratedBase]
	}
	return prefix + rand.String(generatedSuffix)
}

// NewName makes a name of a prefix as the kind does.
func (k *Kind[T]) NewName(prefix string) string {
	if k.Write.GenerateName != nil {
		return k.Write.GenerateName(prefix)
	}
	return generateName(prefix)
}

// FillSystemMetadata sets what the server decides about a new object and drops what clients may not set.
func FillSystemMetadata(obj metav1.Object) {
	obj.SetCreationTimestamp(metav1.Now())
	obj.SetUID(uuid.NewUUID())
	obj.SetDeletionTimestamp(nil)
	obj.SetDeletionGracePeriodSeconds(nil)
	if obj.GetSelfLink() != "" {
		obj.SetSelfLink("")
	}
}

// EnsureNamespace takes over the request's namespace, which an object may not
// contradict; cluster-scoped objects have none.
func (k *Kind[T]) EnsureNamespace(ctx context.Context, obj metav1.Object) error {
	want := ""
	if k.Namespaced {
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
func (k *Kind[T]) nameRule() apivalidation.ValidateNameFunc {
	if k.Write.ValidateName != nil {
		return k.Write.ValidateName
	}
	return apivalidation.NameIsDNSSubdomain
}

var metadataPath = field.NewPath("metadata")

// ValidateMetadata validates metadata as the kind does.
func (k *Kind[T]) ValidateMetadata(rules MetadataRules, obj metav1.Object) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(obj, k.Namespaced, k.nameRule(), metadataPath)
	return append(errs, rules.validateFinalizers(obj)...)
}

// validateFinalizers wants finalizers to name who they are of.
func (r MetadataRules) validateFinalizers(obj metav1.Object) (errs field.ErrorList) {
	if r.AnyFinalizer {
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

// ValidatePathMetadata validates metadata by the rules that hold for every kind.
func (k *Kind[T]) ValidatePathMetadata(obj metav1.Object) field.ErrorList {
	return apivalidation.ValidateObjectMetaAccessor(obj, k.Namespaced, path.ValidatePathSegmentName, metadataPath)
}

func standardFinalizer(f string) bool {
	return f == "kubernetes" || f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
}

// ValidateMetadataUpdate validates the metadata of an update, through a subresource unless main, with what main reports
// before it. The generic rules and the kind's are both reported, as kube-apiserver does, which repeats causes.
func (k *Kind[T]) ValidateMetadataUpdate(rules MetadataRules, obj, old T, main bool) field.ErrorList {
	meta, how := k.View().Metadata(obj), rules.OnStatus
	if main {
		how = rules.OnUpdate
	}
	errs := k.ValidatePathMetadata(meta)
	var change field.ErrorList
	if len(errs) > 0 || !keepsIdentity(meta, old) {
		change = apivalidation.ValidateObjectMetaAccessorUpdate(meta, old, metadataPath)
	}
	errs = append(errs, change...)
	again := how != MetadataOnce
	if again {
		errs = append(errs, change...)
	}
	if main {
		errs = append(errs, k.ValidateFirst(obj)...)
	}
	if again {
		errs = append(errs, rules.validateFinalizers(meta)...)
	}
	if how == MetadataWhole {
		errs = append(errs, k.ValidateMetadata(rules, meta)...)
	}
	return errs
}

// keepsIdentity reports whether an update has all the metadata that may not change, of an object that is not being
// deleted. The library, which compares it by reflection, then has nothing to report but what is wrong with the new
// metadata alone.
func keepsIdentity(obj, old metav1.Object) bool {
	created, before := obj.GetCreationTimestamp(), old.GetCreationTimestamp()
	return old.GetDeletionTimestamp() == nil && obj.GetDeletionTimestamp() == nil &&
		old.GetDeletionGracePeriodSeconds() == nil && obj.GetDeletionGracePeriodSeconds() == nil &&
		obj.GetResourceVersion() != "" && obj.GetGeneration() >= old.GetGeneration() &&
		obj.GetName() == old.GetName() && obj.GetNamespace() == old.GetNamespace() && obj.GetUID() == old.GetUID() &&
		created.Equal(&before)
}

// KeepSystemMetadata puts back the metadata that an update may not change, or may leave out.
func KeepSystemMetadata(obj, old metav1.Object) {
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
