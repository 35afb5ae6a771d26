package rbac

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
)

var v1 = rbacv1.SchemeGroupVersion

func resource(plural string) schema.GroupResource { return v1.WithResource(plural).GroupResource() }

// Group builds rbac.authorization.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	g := &guard{authorizer: d.Authorizer, rules: d.RuleResolver, stores: d.Stores}
	b := group.New(d, rbacv1.GroupName, "v1")
	group.Add(b, roleKind(g))
	group.Add(b, roleBindingKind(g))
	group.Add(b, clusterRoleKind(g))
	group.Add(b, clusterRoleBindingKind(g))
	return b.Info()
}
