// Package webhook validates how an object names the webhook that the server is to
// call: the client configuration which admission webhooks and the conversion of
// custom resources have in common.
//
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
package webhook
