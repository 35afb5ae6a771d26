// Package webhook decides by asking a remote service with SubjectAccessReviews, and
// remembers the answers for a while.
//
// Match conditions, CEL expressions about the review that would be sent, restrict
// what the service is asked about. What happens when the service does not answer is
// the webhook's failure policy.
package webhook
