// Package authorization joins authorizers and holds the simple ones: always,
// never, privileged groups and paths that anybody may read. The others are
// packages below: rbac, node, abac and webhook.
//
// An authorizer that has no opinion leaves the question to the next; when none
// has one, the answer is no.
package authorization
