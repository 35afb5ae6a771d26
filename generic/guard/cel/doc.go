// Package cel is what all CEL expressions of the API have in common: the
// environment with Kubernetes' libraries, and how an expression is compiled and
// evaluated within a cost limit. Rules of custom resources, admission policies,
// match conditions and device selectors add their own variables to it.
package cel
