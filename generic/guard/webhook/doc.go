// Package webhook has what admission webhooks and the conversion webhooks of custom resources have in common: the
// validation of their client configuration, and the User-Agent of their calls.
//
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
package webhook
