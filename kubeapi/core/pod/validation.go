package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
)

// validate validates a pod at any time of its life.
func validate(o podspec.Options, p pod) field.ErrorList {
	errs := podvalidation.Annotations(p.Annotations, &p.Spec, field.NewPath("metadata", "annotations"))
	_, o.Mirror = p.Annotations[corev1.MirrorPodAnnotationKey]
	errs = append(errs, podvalidation.PodSpec(o, &p.Spec, field.NewPath("spec"))...)
	errs = append(errs, accountTokens(p, field.NewPath("spec", "volumes"))...)
	return ephemeralClaims(p, errs, field.NewPath("spec", "volumes"))
}

// accountTokens refuses tokens of the service account of a pod that has none.
func accountTokens(p pod, list *field.Path) field.ErrorList {
	if p.Spec.ServiceAccountName != "" {
		return nil
	}
	var errs field.ErrorList
	for i := range p.Spec.Volumes {
		projected := p.Spec.Volumes[i].Projected
		if projected == nil {
			continue
		}
		for j := range projected.Sources {
			if projected.Sources[j].ServiceAccountToken != nil {
				path := list.Index(i).Child("projected", "sources").Index(j)
				errs = append(errs, field.Forbidden(path.Child("serviceAccountToken"),
					"must not be specified when serviceAccountName is not set"))
			}
		}
	}
	return errs
}

// ephemeralClaims adds what is wrong with the names of the claims that are made for a pod's ephemeral volumes, the
// pod's and the volume's together, before what is wrong with the names of the volumes.
func ephemeralClaims(p pod, errs field.ErrorList, list *field.Path) field.ErrorList {
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if v.Ephemeral == nil || p.Name == "" || v.Name == "" {
			continue
		}
		path, name := list.Index(i).Child("name"), p.Name+"-"+v.Name
		for _, msg := range validation.IsDNS1123Subdomain(name) {
			at := slices.IndexFunc(errs, func(e *field.Error) bool { return e.Field == path.String() })
			if at < 0 {
				at = len(errs)
			}
			errs = slices.Insert(errs, at, field.Invalid(path, v.Name, fmt.Sprintf("PVC name %q: %v", name, msg)))
		}
	}
	return errs
}

// validateNew validates a pod that is about to be created.
func validateNew(o podspec.Options, p pod) field.ErrorList {
	errs, spec := validate(o, p), field.NewPath("spec")
	if len(p.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if p.Spec.NodeName != "" && len(p.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("nodeName"),
			"cannot be set until all schedulingGates have been cleared"))
	}
	return append(errs, podvalidation.ProfilesAgree(p.Annotations, &p.Spec, spec)...)
}
