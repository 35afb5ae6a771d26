package check

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of the conditions that report the health of a volume or of a backend, in items and bytes.
const (
	MaxHealthConditions = 16
	maxHealthReason     = 256
	maxHealthMessage    = 1024
)

// HealthTexts validates the reason and the message of a condition that reports health.
func HealthTexts(reason, message string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(reason) > maxHealthReason {
		errs = append(errs, field.TooLong(path.Child("reason"), "", maxHealthReason))
	} else {
		errs = append(errs, validation.ValidateCondition(metav1.Condition{Type: "Health", Status: metav1.ConditionTrue,
			Reason: reason, LastTransitionTime: metav1.Now()}, path)...)
	}
	if len(message) > maxHealthMessage {
		errs = append(errs, field.TooLong(path.Child("message"), "", maxHealthMessage))
	}
	return errs
}
