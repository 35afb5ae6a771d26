package core

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// avoidedPods validates the annotation that names controllers whose pods should
// run elsewhere: a v1.AvoidPods in JSON, each entry of a controller.
func avoidedPods(annotations map[string]string, path *field.Path) field.ErrorList {
	const key = corev1.PreferAvoidPodsAnnotationKey
	value := annotations[key]
	if value == "" {
		return nil
	}
	var avoid corev1.AvoidPods
	if err := json.Unmarshal([]byte(value), &avoid); err != nil {
		return field.ErrorList{field.Invalid(path.Child("AvoidPods"), key, err.Error())}
	}
	var errs field.ErrorList
	for i := range avoid.PreferAvoidPods {
		signature := path.Child(key).Index(i).Child("PodSignature")
		switch owner := avoid.PreferAvoidPods[i].PodSignature.PodController; {
		case owner == nil:
			errs = append(errs, field.Required(signature, ""))
		case owner.Controller == nil || !*owner.Controller:
			errs = append(errs, field.Invalid(signature.Child("PodController", "Controller"), false,
				"must point to a controller"))
		}
	}
	return errs
}
