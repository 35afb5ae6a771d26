package storage

import (
	"context"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

func csiStorageCapacityKind() kind.Kind[*storagev1.CSIStorageCapacity] {
	type capacity = *storagev1.CSIStorageCapacity
	return kind.Kind[capacity]{
		Namespaced:     true,
		Representation: kind.Typed[capacity]{Former: kind.SameFields[capacity]("v1beta1", "v1alpha1")},
		Write: kind.Write[capacity]{
			Validate:  validateCapacity,
			Immutable: []string{"nodeTopology", "storageClassName"},
			Warnings: func(_ context.Context, c, _ capacity) []string {
				return podwarnings.NodeTopology(c.NodeTopology, field.NewPath("nodeTopology"))
			},
		},
	}
}

func validateCapacity(_ context.Context, c, old *storagev1.CSIStorageCapacity) field.ErrorList {
	allowInvalid := old != nil && old.NodeTopology != nil &&
		metavalidation.LabelSelectorHasInvalidLabelValue(old.NodeTopology)
	errs := validateSelector(c.NodeTopology, allowInvalid, field.NewPath("nodeTopology"))
	errs = append(errs, check.Subdomain(c.StorageClassName, field.NewPath("storageClassName"))...)
	if c.Capacity != nil && c.Capacity.Sign() < 0 {
		errs = append(errs, field.Invalid(field.NewPath("capacity"), c.Capacity.String(),
			"must be greater than or equal to 0"))
	}
	return errs
}

func validateSelector(s *metav1.LabelSelector, allowInvalid bool, path *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s,
		metavalidation.LabelSelectorValidationOptions{AllowInvalidLabelValueInSelector: allowInvalid}, path)
}
