// Package webhook authorizes by asking a remote service with
// SubjectAccessReviews, and remembers the answers for a while: allowed and refused
// requests each for a duration of their own, in a cache of bounded size.
//
// A failure of the service is an error and no opinion. An Authorizer is safe for
// concurrent use.
package webhook
