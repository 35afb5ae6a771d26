// Package abac decides by the lines of a policy file, which is read once.
//
// A line is a JSON object: a Policy of abac.authorization.kubernetes.io/v1beta1, or
// the older form without apiVersion and kind, in which what is left out means all.
// A request is allowed when one line matches it in all of its attributes; no line
// denies.
package abac
