// Package rbac declares the kinds of the group rbac.authorization.k8s.io/v1: Role,
// ClusterRole, RoleBinding and ClusterRoleBinding.
//
// Nobody grants what they do not hold: writing a role takes every permission of its
// rules (or the verb "escalate" on it), writing a binding those of the role (or the
// verb "bind" on it). guard.go has these rules; members of system:masters and the
// server itself are exempt. The roleRef of a binding is fixed: another role is
// another binding, which keeps the permission to edit subjects apart from that to
// grant roles.
package rbac
