package pod

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/podspec"
)

// validate validates a pod at any time of its life.
func validate(o podspec.Options, p pod) field.ErrorList {
	errs := podspec.ValidateAnnotations(p.Annotations, &p.Spec, field.NewPath("metadata", "annotations"))
	return append(errs, podspec.ValidatePodSpec(o, &p.Spec, field.NewPath("spec"))...)
}

// validateNew validates a pod that is about to be created.
func validateNew(o podspec.Options, p pod) field.ErrorList {
	errs, spec := validate(o, p), field.NewPath("spec")
	if len(p.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if p.Spec.NodeName != "" && len(p.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}
