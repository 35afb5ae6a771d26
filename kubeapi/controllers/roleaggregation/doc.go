// Package roleaggregation fills the rules of ClusterRoles with an aggregation rule from those of the
// ClusterRoles that its selectors match.
package roleaggregation
