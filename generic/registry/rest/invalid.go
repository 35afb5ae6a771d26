package rest

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Invalid is the status of apierrors.NewInvalid. A client decides how many errors its
// object has, and NewInvalid copies the message once for each of them.
func Invalid(kind schema.GroupKind, name string, errs field.ErrorList) *apierrors.StatusError {
	status := apierrors.NewInvalid(kind, name, nil)
	causes := make([]metav1.StatusCause, len(errs))
	seen := sets.New[string]()
	var texts []string
	for i, e := range errs {
		body := e.ErrorBody()
		causes[i] = metav1.StatusCause{Type: metav1.CauseType(e.Type), Message: body, Field: e.Field}
		if text := e.Field + ": " + body; !seen.Has(text) {
			seen.Insert(text)
			texts = append(texts, text)
		}
	}
	status.ErrStatus.Details.Causes = causes
	switch message := strings.Join(texts, ", "); len(texts) {
	case 0:
	case 1:
		status.ErrStatus.Message += ": " + message
	default:
		status.ErrStatus.Message += ": [" + message + "]"
	}
	return status
}
