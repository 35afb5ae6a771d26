// Package webhook implements the webhook authorizer. It sends SubjectAccessReviews to a remote service and
// caches the responses.
//
// Match conditions, CEL expressions over the review, restrict for which requests the service is called. The
// failure policy decides when the service does not respond.
package webhook
