// Package webhook validates the client configuration of webhooks, which admission webhooks and the conversion
// webhooks of custom resources have in common.
//
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
package webhook
