package group

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	migrationv1 "k8s.io/api/storagemigration/v1"
)

// These functions are the only place that pairs a resource with the Go type of its objects. A test compares them with
// the declarations of the kinds. As methods, all handles would be compiled in each package that mentions Stores.

// CSIDrivers returns the handle of csidrivers in storage.k8s.io.
func CSIDrivers(s *Stores) (h Handle[*storagev1.CSIDriver]) {
	return h.of(s, storagev1.Resource("csidrivers"))
}

// CertificateSigningRequests returns the handle of certificatesigningrequests in certificates.k8s.io.
func CertificateSigningRequests(s *Stores) (h Handle[*certificatesv1.CertificateSigningRequest]) {
	return h.of(s, certificatesv1.Resource("certificatesigningrequests"))
}

// ClusterRoleBindings returns the handle of clusterrolebindings in rbac.authorization.k8s.io.
func ClusterRoleBindings(s *Stores) (h Handle[*rbacv1.ClusterRoleBinding]) {
	return h.of(s, rbacv1.Resource("clusterrolebindings"))
}

// ClusterRoles returns the handle of clusterroles in rbac.authorization.k8s.io.
func ClusterRoles(s *Stores) (h Handle[*rbacv1.ClusterRole]) {
	return h.of(s, rbacv1.Resource("clusterroles"))
}

// ConfigMaps returns the handle of configmaps in core.
func ConfigMaps(s *Stores) (h Handle[*corev1.ConfigMap]) {
	return h.of(s, corev1.Resource("configmaps"))
}

// Deployments returns the handle of deployments in apps.
func Deployments(s *Stores) (h Handle[*appsv1.Deployment]) {
	return h.of(s, appsv1.Resource("deployments"))
}

// EndpointSlices returns the handle of endpointslices in discovery.k8s.io.
func EndpointSlices(s *Stores) (h Handle[*discoveryv1.EndpointSlice]) {
	return h.of(s, discoveryv1.Resource("endpointslices"))
}

// Endpoints returns the handle of endpoints in core.
func Endpoints(s *Stores) (h Handle[*corev1.Endpoints]) {
	return h.of(s, corev1.Resource("endpoints"))
}

// Events returns the handle of events in core.
func Events(s *Stores) (h Handle[*corev1.Event]) { return h.of(s, corev1.Resource("events")) }

// FlowSchemas returns the handle of flowschemas in flowcontrol.apiserver.k8s.io.
func FlowSchemas(s *Stores) (h Handle[*flowv1.FlowSchema]) {
	return h.of(s, flowv1.Resource("flowschemas"))
}

// IPAddresses returns the handle of ipaddresses in networking.k8s.io.
func IPAddresses(s *Stores) (h Handle[*networkingv1.IPAddress]) {
	return h.of(s, networkingv1.Resource("ipaddresses"))
}

// IngressClasses returns the handle of ingressclasses in networking.k8s.io.
func IngressClasses(s *Stores) (h Handle[*networkingv1.IngressClass]) {
	return h.of(s, networkingv1.Resource("ingressclasses"))
}

// Jobs returns the handle of jobs in batch.
func Jobs(s *Stores) (h Handle[*batchv1.Job]) { return h.of(s, batchv1.Resource("jobs")) }

// Leases returns the handle of leases in coordination.k8s.io.
func Leases(s *Stores) (h Handle[*coordinationv1.Lease]) {
	return h.of(s, coordinationv1.Resource("leases"))
}

// LimitRanges returns the handle of limitranges in core.
func LimitRanges(s *Stores) (h Handle[*corev1.LimitRange]) {
	return h.of(s, corev1.Resource("limitranges"))
}

// MutatingAdmissionPolicies returns the handle of mutatingadmissionpolicies in admissionregistration.k8s.io.
func MutatingAdmissionPolicies(s *Stores) (h Handle[*admissionv1.MutatingAdmissionPolicy]) {
	return h.of(s, admissionv1.Resource("mutatingadmissionpolicies"))
}

// Namespaces returns the handle of namespaces in core.
func Namespaces(s *Stores) (h Handle[*corev1.Namespace]) {
	return h.of(s, corev1.Resource("namespaces"))
}

// Nodes returns the handle of nodes in core.
func Nodes(s *Stores) (h Handle[*corev1.Node]) { return h.of(s, corev1.Resource("nodes")) }

// PersistentVolumeClaims returns the handle of persistentvolumeclaims in core.
func PersistentVolumeClaims(s *Stores) (h Handle[*corev1.PersistentVolumeClaim]) {
	return h.of(s, corev1.Resource("persistentvolumeclaims"))
}

// PersistentVolumes returns the handle of persistentvolumes in core.
func PersistentVolumes(s *Stores) (h Handle[*corev1.PersistentVolume]) {
	return h.of(s, corev1.Resource("persistentvolumes"))
}

// PodDisruptionBudgets returns the handle of poddisruptionbudgets in policy.
func PodDisruptionBudgets(s *Stores) (h Handle[*policyv1.PodDisruptionBudget]) {
	return h.of(s, policyv1.Resource("poddisruptionbudgets"))
}

// Pods returns the handle of pods in core.
func Pods(s *Stores) (h Handle[*corev1.Pod]) { return h.of(s, corev1.Resource("pods")) }

// PriorityClasses returns the handle of priorityclasses in scheduling.k8s.io.
func PriorityClasses(s *Stores) (h Handle[*schedulingv1.PriorityClass]) {
	return h.of(s, schedulingv1.Resource("priorityclasses"))
}

// PriorityLevelConfigurations returns the handle of prioritylevelconfigurations in flowcontrol.apiserver.k8s.io.
func PriorityLevelConfigurations(s *Stores) (h Handle[*flowv1.PriorityLevelConfiguration]) {
	return h.of(s, flowv1.Resource("prioritylevelconfigurations"))
}

// ReplicaSets returns the handle of replicasets in apps.
func ReplicaSets(s *Stores) (h Handle[*appsv1.ReplicaSet]) {
	return h.of(s, appsv1.Resource("replicasets"))
}

// ResourceQuotas returns the handle of resourcequotas in core.
func ResourceQuotas(s *Stores) (h Handle[*corev1.ResourceQuota]) {
	return h.of(s, corev1.Resource("resourcequotas"))
}

// RoleBindings returns the handle of rolebindings in rbac.authorization.k8s.io.
func RoleBindings(s *Stores) (h Handle[*rbacv1.RoleBinding]) {
	return h.of(s, rbacv1.Resource("rolebindings"))
}

// Roles returns the handle of roles in rbac.authorization.k8s.io.
func Roles(s *Stores) (h Handle[*rbacv1.Role]) { return h.of(s, rbacv1.Resource("roles")) }

// RuntimeClasses returns the handle of runtimeclasses in node.k8s.io.
func RuntimeClasses(s *Stores) (h Handle[*nodev1.RuntimeClass]) {
	return h.of(s, nodev1.Resource("runtimeclasses"))
}

// Secrets returns the handle of secrets in core.
func Secrets(s *Stores) (h Handle[*corev1.Secret]) { return h.of(s, corev1.Resource("secrets")) }

// ServiceAccounts returns the handle of serviceaccounts in core.
func ServiceAccounts(s *Stores) (h Handle[*corev1.ServiceAccount]) {
	return h.of(s, corev1.Resource("serviceaccounts"))
}

// ServiceCIDRs returns the handle of servicecidrs in networking.k8s.io.
func ServiceCIDRs(s *Stores) (h Handle[*networkingv1.ServiceCIDR]) {
	return h.of(s, networkingv1.Resource("servicecidrs"))
}

// Services returns the handle of services in core.
func Services(s *Stores) (h Handle[*corev1.Service]) { return h.of(s, corev1.Resource("services")) }

// StatefulSets returns the handle of statefulsets in apps.
func StatefulSets(s *Stores) (h Handle[*appsv1.StatefulSet]) {
	return h.of(s, appsv1.Resource("statefulsets"))
}

// StorageClasses returns the handle of storageclasses in storage.k8s.io.
func StorageClasses(s *Stores) (h Handle[*storagev1.StorageClass]) {
	return h.of(s, storagev1.Resource("storageclasses"))
}

// StorageVersionMigrations returns the handle of storageversionmigrations in storagemigration.k8s.io.
func StorageVersionMigrations(s *Stores) (h Handle[*migrationv1.StorageVersionMigration]) {
	return h.of(s, migrationv1.Resource("storageversionmigrations"))
}

// ValidatingAdmissionPolicies returns the handle of validatingadmissionpolicies in admissionregistration.k8s.io.
func ValidatingAdmissionPolicies(s *Stores) (h Handle[*admissionv1.ValidatingAdmissionPolicy]) {
	return h.of(s, admissionv1.Resource("validatingadmissionpolicies"))
}
