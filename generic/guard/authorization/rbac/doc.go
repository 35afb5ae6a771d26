// Package rbac implements the RBAC authorizer for the Roles, ClusterRoles and bindings in storage.
//
// The Set and Delete methods of Authorizer update its objects. Follow calls them for what is in storage. Writers may
// also call them, so that a grant is in effect when the response of the write is sent; an object older than the
// current one is ignored. Bindings are indexed by subject, so that the cost of a decision only depends on the
// bindings of the user. Authorizers may share the objects of another one (Over), of which they keep only the changes.
package rbac
