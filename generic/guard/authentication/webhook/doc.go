// Package webhook authenticates tokens with TokenReviews at a remote service. Package authorization/webhook
// uses its Caller, too.
package webhook
