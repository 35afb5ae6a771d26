package admissionregistration

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/generic/guard/admission/manifest"
)

// Complete sets the defaults of an object of the group that a manifest defines, and returns
// what is wrong with it.
func Complete(obj runtime.Object) error {
	switch o := obj.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		return complete(validatingWebhookKind(), o)
	case *admissionv1.MutatingWebhookConfiguration:
		return complete(mutatingWebhookKind(), o)
	case *admissionv1.ValidatingAdmissionPolicy:
		return complete(validatingPolicyKind(), o)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return complete(validatingBindingKind(), o)
	case *admissionv1.MutatingAdmissionPolicy:
		return complete(mutatingPolicyKind(), o)
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return complete(mutatingBindingKind(), o)
	}
	return fmt.Errorf("%T is not of the group %s", obj, admissionv1.GroupName)
}

func complete[T registry.Object](k registry.Kind[T], o T) error {
	k.Write.Default(o)
	errs := apivalidation.ValidateObjectMetaAccessor(o, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, k.Write.Validate(context.Background(), o)...).ToAggregate()
}

// reserving is a kind whose names for manifests are refused at creation or, where no
// manifests are read, warned about.
func reserving[T registry.Object](k registry.Kind[T], refused bool) registry.Kind[T] {
	const reserved = "names ending with \"" + manifest.Suffix + "\" are reserved for static manifest-based configurations and cannot be managed via the API"
	path := field.NewPath("metadata", "name")
	if !refused {
		k.Write.Warnings = func(_ context.Context, o, old T) []string {
			var none T
			if any(old) == any(none) && strings.HasSuffix(o.GetName(), manifest.Suffix) {
				return []string{path.String() + ": " + reserved}
			}
			return nil
		}
		return k
	}
	validate := k.Write.Validate
	k.Write.Validate = func(ctx context.Context, o T) field.ErrorList {
		errs := validate(ctx, o)
		if strings.HasSuffix(o.GetName(), manifest.Suffix) {
			errs = append(errs, field.Invalid(path, o.GetName(), reserved))
		}
		return errs
	}
	return k
}
