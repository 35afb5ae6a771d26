package rest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// MaxCauses is how many errors an answer has at most.
	MaxCauses = 1000
	// maxErrorText is how many bytes of text end the errors of an answer.
	maxErrorText = 256 << 10
)

// Distinct returns the errors without those that repeat an earlier one. Errors beyond those that an answer has are
// not looked at.
func Distinct(errs field.ErrorList) field.ErrorList {
	seen := map[string]bool{}
	var out field.ErrorList
	text := 0
	for i, e := range errs {
		if len(out) == MaxCauses || text > maxErrorText {
			return append(out, errs[i:]...)
		}
		said := e.Error()
		if !seen[said] {
			seen[said] = true
			text += len(said)
			out = append(out, e)
		}
	}
	return out
}

// Invalid is apierrors.NewInvalid of the first errors. A client decides how many its object has, and what they
// show, which may be a list for each of its elements: gigabytes of an object of three megabytes.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	shown, text := 0, 0
	for shown < min(len(errs), MaxCauses) && text < maxErrorText {
		text += len(errs[shown].Error())
		shown++
	}
	return apierrors.NewInvalid(kind, name, errs[:shown])
}
