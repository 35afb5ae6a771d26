package kubeapi

import (
	"triplane/kubeapi/apps"
	"triplane/kubeapi/batch"
	"triplane/kubeapi/group"
	"triplane/kubeapi/node"
	"triplane/kubeapi/policy"
	"triplane/kubeapi/rbac"
	"triplane/kubeapi/scheduling"
)

// legacyGroup is the core group, at /api.
// groups are all others, in the order in which kube-apiserver installs them.
func groups() []group.Func {
	return []group.Func{
		// authentication.k8s.io
		// authorization.k8s.io
		// autoscaling
		batch.Group,
		// certificates.k8s.io
		// coordination.k8s.io
		// discovery.k8s.io
		// networking.k8s.io
		node.Group,
		policy.Group,
		rbac.Group,
		scheduling.Group,
		// storage.k8s.io
		// flowcontrol.apiserver.k8s.io
		// apps: behind all others, so that its kinds win over what other groups
		// served before (extensions)
		apps.Group,
		// admissionregistration.k8s.io
		// events.k8s.io
		// resource.k8s.io
	}
}
