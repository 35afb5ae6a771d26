package kubeapi

import (
	"triplane/kubeapi/admissionregistration"
	"triplane/kubeapi/apiserverinternal"
	"triplane/kubeapi/apps"
	"triplane/kubeapi/authentication"
	"triplane/kubeapi/authorization"
	"triplane/kubeapi/autoscaling"
	"triplane/kubeapi/batch"
	"triplane/kubeapi/certificates"
	"triplane/kubeapi/coordination"
	"triplane/kubeapi/discovery"
	"triplane/kubeapi/events"
	"triplane/kubeapi/flowcontrol"
	"triplane/kubeapi/group"
	"triplane/kubeapi/lifecycle"
	"triplane/kubeapi/networking"
	"triplane/kubeapi/node"
	"triplane/kubeapi/policy"
	"triplane/kubeapi/rbac"
	"triplane/kubeapi/resource"
	"triplane/kubeapi/scheduling"
	"triplane/kubeapi/storage"
	"triplane/kubeapi/storagemigration"
)

// groups are the API groups at /apis, in the order in which kube-apiserver installs
// them. The core group is at /api.
func groups() []group.Func {
	return []group.Func{
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
