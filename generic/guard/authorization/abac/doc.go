// Package abac authorizes by the lines of a policy file, which is read once.
//
// A line is a JSON object: a Policy of abac.authorization.kubernetes.io/v1beta1, or
// the older form without apiVersion and kind, in which a missing attribute means all.
// A request is allowed if one line matches all of its attributes; no line
// denies.
package abac
