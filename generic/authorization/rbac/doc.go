// Package rbac decides by the Roles, ClusterRoles and their bindings that are
// stored in the cluster.
//
// The objects come in through the four Set/Delete pairs of Authorizer (or
// AddEventHandlers, which feeds them from informers). Bindings are indexed by
// their subjects, so that a decision costs what the user's own bindings cost,
// however many there are. Readers never wait for writers longer than a map
// assignment.
package rbac
