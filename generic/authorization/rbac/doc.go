// Package rbac decides by the Roles, ClusterRoles and their bindings that are
// stored in the cluster.
//
// The objects come in through the Set and Delete methods of Authorizer; Handler
// makes informers call them. Whoever writes the objects may call them too, so
// that a grant holds from the moment it is answered; older versions of an
// object than the one known are ignored. Bindings are indexed by their
// subjects, so that a decision costs what the user's own bindings cost, however
// many there are.
package rbac
