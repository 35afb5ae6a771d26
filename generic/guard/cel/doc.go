// Package cel has what all CEL expressions of the API have in common: the environment with Kubernetes'
// libraries, compilation, and evaluation within a cost limit. Rules of custom resources, admission policies,
// match conditions and device selectors add their variables to it.
package cel
