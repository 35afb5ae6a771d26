package request

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// TimedOut returns the error for a request whose deadline has passed.
func TimedOut() *apierrors.StatusError {
	return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0)
}
