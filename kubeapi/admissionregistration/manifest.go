package admissionregistration

import (
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
)

// Complete sets the defaults of an object of the group that a manifest defines, and returns
// what is wrong with it.
func Complete(obj runtime.Object) error {
	switch o := obj.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		return complete(validatingWebhookKind(rules{}), o)
	case *admissionv1.MutatingWebhookConfiguration:
		return complete(mutatingWebhookKind(rules{}), o)
	case *admissionv1.ValidatingAdmissionPolicy:
		return complete(validatingPolicyKind(rules{}), o)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		return complete(validatingBindingKind(rules{}), o)
	case *admissionv1.MutatingAdmissionPolicy:
		return complete(mutatingPolicyKind(rules{}), o)
	case *admissionv1.MutatingAdmissionPolicyBinding:
		return complete(mutatingBindingKind(rules{}), o)
	}
	return fmt.Errorf("%T is not of the group %s", obj, admissionv1.GroupName)
}

func complete[T kind.Object](k kind.Kind[T], o T) error {
	var none T
	k.Write.Default(o)
	errs := apivalidation.ValidateObjectMetaAccessor(o, false, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, k.Write.Validate(context.Background(), o, none)...).ToAggregate()
}
