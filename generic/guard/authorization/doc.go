// Package authorization combines authorizers. It has the simple ones: AlwaysAllow, AlwaysDeny, PrivilegedGroups
// and Paths. Packages below it have the others: rbac, abac and webhook; the node authorizer is
// kubeapi/nodeauthorizer.
//
// If an authorizer has no opinion, the next one decides. A request on which no authorizer has an opinion is
// denied.
package authorization
