package bootstrap

import rbacv1 "k8s.io/api/rbac/v1"

// clusterRoleBindings bind the roles of components and people; those of
// controllers are made from controllerRoles.
func clusterRoleBindings(on Features) []*rbacv1.ClusterRoleBinding {
	return append([]*rbacv1.ClusterRoleBinding{
		clusterBinding("cluster-admin", "cluster-admin", groupSubject("system:masters")),
		clusterBinding("system:basic-user", "system:basic-user", groupSubject("system:authenticated")),
		clusterBinding("system:discovery", "system:discovery", groupSubject("system:authenticated")),
		clusterBinding("system:kube-controller-manager", "system:kube-controller-manager",
			userSubject("system:kube-controller-manager")),
		clusterBinding("system:kube-dns", "system:kube-dns", account("kube-dns")),
		clusterBinding("system:kube-scheduler", "system:kube-scheduler", userSubject("system:kube-scheduler")),
		clusterBinding("system:monitoring", "system:monitoring", groupSubject("system:monitoring")),
		clusterBinding("system:node", "system:node"),
		clusterBinding("system:node-proxier", "system:node-proxier", userSubject("system:kube-proxy")),
		clusterBinding("system:public-info-viewer", "system:public-info-viewer", groupSubject("system:authenticated"),
			groupSubject("system:unauthenticated")),
		clusterBinding("system:service-account-issuer-discovery", "system:service-account-issuer-discovery",
			groupSubject("system:serviceaccounts")),
		clusterBinding("system:volume-scheduler", "system:volume-scheduler", userSubject("system:kube-scheduler")),
	}, onlyWith(on, "ClusterTrustBundle",
		clusterBinding("system:cluster-trust-bundle-discovery", "system:cluster-trust-bundle-discovery",
			groupSubject("system:serviceaccounts")))...)
}

// roles are the roles in namespaces.
func roles() []*rbacv1.Role {
	return []*rbacv1.Role{
		role("kube-public", "system:controller:bootstrap-signer",
			rule("get list watch", "core", "configmaps"),
			named("update", "core", "configmaps", "cluster-info"),
			rule("create patch update", "core events.k8s.io", "events"),
		),
		role("kube-system", "extension-apiserver-authentication-reader",
			named("get list watch", "core", "configmaps", "extension-apiserver-authentication"),
		),
		role("kube-system", "system::leader-locking-kube-controller-manager",
			rule("create get list update watch", "coordination.k8s.io", "leases"),
			rule("create get list update watch", "coordination.k8s.io", "leasecandidates"),
		),
		role("kube-system", "system::leader-locking-kube-scheduler",
			rule("create get list update watch", "coordination.k8s.io", "leases"),
			rule("create get list update watch", "coordination.k8s.io", "leasecandidates"),
		),
		role("kube-system", "system:controller:bootstrap-signer",
			rule("get list watch", "core", "secrets"),
		),
		role("kube-system", "system:controller:cloud-provider",
			rule("create get list watch", "core", "configmaps"),
		),
		role("kube-system", "system:controller:token-cleaner",
			rule("delete get list watch", "core", "secrets"),
			rule("create patch update", "core events.k8s.io", "events"),
		),
	}
}

// roleBindings bind roles in namespaces.
func roleBindings() []*rbacv1.RoleBinding {
	return []*rbacv1.RoleBinding{
		binding("kube-public", "system:controller:bootstrap-signer", "system:controller:bootstrap-signer",
			account("bootstrap-signer")),
		binding("kube-system", "system::extension-apiserver-authentication-reader",
			"extension-apiserver-authentication-reader", userSubject("system:kube-controller-manager"),
			userSubject("system:kube-scheduler")),
		binding("kube-system", "system::leader-locking-kube-controller-manager",
			"system::leader-locking-kube-controller-manager", userSubject("system:kube-controller-manager"),
			account("kube-controller-manager"), account("leader-election-controller")),
		binding("kube-system", "system::leader-locking-kube-scheduler", "system::leader-locking-kube-scheduler",
			userSubject("system:kube-scheduler"), account("kube-scheduler")),
		binding("kube-system", "system:controller:bootstrap-signer", "system:controller:bootstrap-signer",
			account("bootstrap-signer")),
		binding("kube-system", "system:controller:cloud-provider", "system:controller:cloud-provider",
			account("cloud-provider")),
		binding("kube-system", "system:controller:token-cleaner", "system:controller:token-cleaner",
			account("token-cleaner")),
	}
}
