// Package roleaggregation sets the rules of ClusterRoles with an aggregation rule to those of the ClusterRoles
// that its selectors match.
package roleaggregation
