// Package rbac declares the kinds of the group rbac.authorization.k8s.io/v1:
// Role, ClusterRole, RoleBinding and ClusterRoleBinding.
//
// Nobody may grant what he does not hold himself: writing a role asks whether
// the user has every permission of its rules (or may "escalate" it), writing a
// binding whether he has those of the role (or may "bind" it).
package rbac
