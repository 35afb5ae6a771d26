// Package webhook authenticates tokens by asking a remote service with TokenReviews.
// Its Caller is how package authorization/webhook asks, too.
package webhook
