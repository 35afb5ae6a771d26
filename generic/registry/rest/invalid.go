package rest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxCauses is how many errors an answer has at most.
const maxCauses = 1000

// Invalid is apierrors.NewInvalid of the first errors. A client decides how many its object has: their
// text is longer than the object, and NewInvalid copies it once for each of them.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	return apierrors.NewInvalid(kind, name, errs[:min(len(errs), maxCauses)])
}
