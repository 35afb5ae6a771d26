// Package authorization combines authorizers and has the simple ones: always,
// never, privileged groups, and paths that everybody may read. The others are
// packages below: rbac, node, abac and webhook.
//
// An authorizer without an opinion leaves the decision to the next; a request
// on which none has an opinion is denied.
package authorization
