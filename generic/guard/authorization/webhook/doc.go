// Package webhook authorizes by asking a remote service with SubjectAccessReviews, and
// caches its answers.
//
// Match conditions, CEL expressions about the review that would be sent, restrict
// which requests the service is asked about. The failure policy decides where the service
// does not answer.
package webhook
