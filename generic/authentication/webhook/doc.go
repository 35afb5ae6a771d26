// Package webhook authenticates tokens by asking a remote service with
// TokenReviews, at the URL that a kubeconfig file names.
//
// A Caller posts one review and tries again, a few times, while the service cannot
// be reached or answers 429 or 5xx, until the context ends; answers are bounded in
// size. Package authorization/webhook asks with a Caller,
// too. All of it is safe for concurrent use.
package webhook
