// Package rbac authorizes by the Roles, ClusterRoles and their bindings that are
// stored in the cluster.
//
// The Set and Delete methods of Authorizer enter the objects; Handler calls them from
// informers. The writer of an object may call them, too, so that a grant holds from the
// moment the write is answered; versions older than the known one are ignored. Bindings
// are indexed by their subjects, so that the cost of a decision depends on the user's own
// bindings only.
package rbac
