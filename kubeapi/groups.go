package kubeapi

import (
	"triplane.dev/kubeapi/admissionregistration"
	"triplane.dev/kubeapi/apiserverinternal"
	"triplane.dev/kubeapi/apps"
	"triplane.dev/kubeapi/authentication"
	"triplane.dev/kubeapi/authorization"
	"triplane.dev/kubeapi/autoscaling"
	"triplane.dev/kubeapi/batch"
	"triplane.dev/kubeapi/certificates"
	"triplane.dev/kubeapi/coordination"
	"triplane.dev/kubeapi/core"
	"triplane.dev/kubeapi/discovery"
	"triplane.dev/kubeapi/events"
	"triplane.dev/kubeapi/flowcontrol"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/lifecycle"
	"triplane.dev/kubeapi/networking"
	"triplane.dev/kubeapi/node"
	"triplane.dev/kubeapi/policy"
	"triplane.dev/kubeapi/rbac"
	"triplane.dev/kubeapi/resource"
	"triplane.dev/kubeapi/scheduling"
	"triplane.dev/kubeapi/storage"
	"triplane.dev/kubeapi/storagemigration"
)

// groups are the API groups in the order in which kube-apiserver installs them: the core group at /api, and those at
// /apis.
func groups() []group.Func {
	return []group.Func{
		core.Group,
		apiserverinternal.Group,
		authentication.Group,
		authorization.Group,
		autoscaling.Group,
		batch.Group,
		certificates.Group,
		coordination.Group,
		discovery.Group,
		networking.Group,
		node.Group,
		policy.Group,
		rbac.Group,
		scheduling.Group,
		storage.Group,
		storagemigration.Group,
		lifecycle.Group,
		flowcontrol.Group,
		// apps: behind all others, so that its kinds win over what other groups
		// served before (extensions)
		apps.Group,
		admissionregistration.Group,
		events.Group,
		resource.Group,
	}
}
