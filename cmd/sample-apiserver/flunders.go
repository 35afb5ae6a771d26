package main

import (
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/apiserver"
	"triplane.dev/cmd/sample-apiserver/v1alpha1"
	"triplane.dev/cmd/sample-apiserver/v1beta1"
)

type flunder = *v1beta1.Flunder

// flunders declares the kind Flunder. Its hub is v1beta1, which can represent all of v1alpha1. The storage version
// is v1alpha1, which older servers can read.
func flunders() apiserver.Kind[flunder] {
	old := apiserver.VersionOf[flunder](v1alpha1.GroupVersion, fromV1alpha1, toV1alpha1)
	old.Default = apiserver.DefaultOf(func(f *v1alpha1.Flunder) {
		if f.Spec.Reference != "" && f.Spec.ReferenceType == nil {
			f.Spec.ReferenceType = ptr.To(v1alpha1.FlunderReferenceType)
		}
	})
	return apiserver.Kind[flunder]{
		Hub: v1beta1.GroupVersion.WithKind("Flunder"), Namespaced: true,
		Representation: apiserver.Typed[flunder]{Versions: []apiserver.Version[flunder]{old}, StorageVersion: old.Kind},
		Write:          apiserver.Write[flunder]{ValidateName: anyName, Validate: apiserver.Whole(validateFlunder)},
	}
}

func fromV1alpha1(f *v1alpha1.Flunder) (flunder, error) {
	out := &v1beta1.Flunder{ObjectMeta: f.ObjectMeta}
	if f.Spec.ReferenceType == nil {
		return out, nil
	}
	out.Spec.ReferenceType = v1beta1.ReferenceType(*f.Spec.ReferenceType)
	if out.Spec.ReferenceType == v1beta1.FischerReferenceType {
		out.Spec.FischerReference = f.Spec.Reference
	} else {
		out.Spec.FlunderReference = f.Spec.Reference
	}
	return out, nil
}

func toV1alpha1(f flunder) (*v1alpha1.Flunder, error) {
	out := &v1alpha1.Flunder{ObjectMeta: f.ObjectMeta}
	switch f.Spec.ReferenceType {
	case "":
		return out, nil
	case v1beta1.FischerReferenceType:
		out.Spec.Reference = f.Spec.FischerReference
	default:
		out.Spec.Reference = f.Spec.FlunderReference
	}
	out.Spec.ReferenceType = ptr.To(v1alpha1.ReferenceType(f.Spec.ReferenceType))
	return out, nil
}

// validateFlunder requires the reference of the type, and rejects others.
func validateFlunder(f flunder) (errs field.ErrorList) {
	s := &f.Spec
	const ofFlunder, ofFischer = v1beta1.FlunderReferenceType, v1beta1.FischerReferenceType
	spec := field.NewPath("spec")
	flunder, fischer, kind := spec.Child("flunderReference"), spec.Child("fischerReference"), s.ReferenceType
	switch {
	case s.FlunderReference != "" && s.FischerReference != "":
		return field.ErrorList{field.Invalid(fischer, s.FischerReference,
			"cannot be set with flunderReference at the same time")}
	case s.FlunderReference != "" && kind != ofFlunder:
		errs = append(errs, field.Invalid(flunder, s.FlunderReference, "cannot be set if referenceType is not Flunder"))
	case s.FischerReference != "" && kind != ofFischer:
		errs = append(errs, field.Invalid(fischer, s.FischerReference, "cannot be set if referenceType is not Fischer"))
	case s.FlunderReference == "" && kind == ofFlunder:
		errs = append(errs, field.Invalid(flunder, "", "cannot be empty if referenceType is Flunder"))
	case s.FischerReference == "" && kind == ofFischer:
		errs = append(errs, field.Invalid(fischer, "", "cannot be empty if referenceType is Fischer"))
	}
	if kind != "" && kind != ofFlunder && kind != ofFischer {
		errs = append(errs, field.Invalid(spec.Child("referenceType"), kind, "must be Flunder or Fischer"))
	}
	return errs
}
