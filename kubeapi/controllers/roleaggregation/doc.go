// Package roleaggregation fills the rules of ClusterRoles that aggregate others, by
// the labels that their aggregation rules select.
package roleaggregation
