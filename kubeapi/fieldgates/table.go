package fieldgates

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// table lists what belongs to which feature.
func table() []rule {
	return slices.Concat(podRules(), podStatusRules(), volumeRules(), workloadRules(), resourceRules(), schedulingRules())
}

func workloadRules() []rule {
	return []rule{
		field("MaxUnavailableStatefulSet", func(
			s *appsv1.RollingUpdateStatefulSetStrategy) **intstr.IntOrString {
			return &s.MaxUnavailable
		}),
		field("DeploymentReplicaSetTerminatingReplicas",
			func(s *appsv1.DeploymentStatus) **int32 { return &s.TerminatingReplicas }),
		field("DeploymentReplicaSetTerminatingReplicas",
			func(s *appsv1.ReplicaSetStatus) **int32 { return &s.TerminatingReplicas }),
		field("JobManagedBy", func(s *batchv1.JobSpec) **string { return &s.ManagedBy }),
		field("HPAConfigurableTolerance", func(r *autoscalingv2.HPAScalingRules) **resource.Quantity { return &r.Tolerance }),
		field("CoordinatedLeaderElection", func(
			s *coordinationv1.LeaseSpec) **coordinationv1.CoordinatedLeaseStrategy {
			return &s.Strategy
		}),
		field("CoordinatedLeaderElection", func(s *coordinationv1.LeaseSpec) **string { return &s.PreferredHolder }),
		field("NodeDeclaredFeatures", func(s *corev1.NodeStatus) *[]string { return &s.DeclaredFeatures }),
		field("SupplementalGroupsPolicy", func(s *corev1.NodeStatus) **corev1.NodeFeatures { return &s.Features }),
	}
}

func volumeRules() []rule {
	return []rule{
		whole(part("CrossNamespaceVolumeDataSource",
			func(c *corev1.PersistentVolumeClaim) bool { return c.Spec.DataSourceRef != nil },
			func(c *corev1.PersistentVolumeClaim) {
				if ptr.Deref(c.Spec.DataSourceRef.Namespace, "") != "" {
					c.Spec.DataSourceRef = nil
				}
			})),
		field("VolumeAttributesClass", func(c *corev1.PersistentVolumeClaim) **string { return &c.Spec.VolumeAttributesClassName }),
		field("VolumeAttributesClass", func(s *corev1.PersistentVolumeSpec) **string { return &s.VolumeAttributesClassName }),
		field("VolumeAttributesClass", func(s *corev1.PersistentVolumeClaimStatus) **string { return &s.CurrentVolumeAttributesClassName }),
		field("VolumeAttributesClass", func(s *corev1.PersistentVolumeClaimStatus) **corev1.ModifyVolumeStatus { return &s.ModifyVolumeStatus }),
		field("VolumeLimitScaling", func(s *storagev1.CSIDriverSpec) **bool { return &s.PreventPodSchedulingIfMissing }),
		field("CSIServiceAccountTokenSecrets",
			func(s *storagev1.CSIDriverSpec) **bool { return &s.ServiceAccountTokenInSecrets }),
		field("SELinuxMountReadWriteOncePod", func(s *storagev1.CSIDriverSpec) **bool { return &s.SELinuxMount }),
		field("MutableCSINodeAllocatableCount",
			func(s *storagev1.CSIDriverSpec) **int64 { return &s.NodeAllocatableUpdatePeriodSeconds }),
		field("MutableCSINodeAllocatableCount", func(e *storagev1.VolumeError) **int32 { return &e.ErrorCode }),
	}
}

// schedulingRules are those of pod groups and their templates, which have the same
// fields.
func schedulingRules() []rule {
	type (
		spec     = schedulingv1alpha2.PodGroupSpec
		template = schedulingv1alpha2.PodGroupTemplate
		limits   = schedulingv1alpha2.PodGroupSchedulingConstraints
		claims   = []schedulingv1alpha2.PodGroupResourceClaim
	)
	const topology, shared, preemption = "TopologyAwareWorkloadScheduling", "DRAWorkloadResourceClaims",
		"WorkloadAwarePreemption"
	return []rule{
		field(topology, func(s *spec) **limits { return &s.SchedulingConstraints }),
		field(topology, func(t *template) **limits { return &t.SchedulingConstraints }),
		field(shared, func(s *spec) *claims { return &s.ResourceClaims }),
		field(shared, func(t *template) *claims { return &t.ResourceClaims }),
		field(preemption, func(s *spec) **schedulingv1alpha2.DisruptionMode { return &s.DisruptionMode }),
		field(preemption, func(t *template) **schedulingv1alpha2.DisruptionMode { return &t.DisruptionMode }),
		field(preemption, func(s *spec) *string { return &s.PriorityClassName }),
		field(preemption, func(t *template) *string { return &t.PriorityClassName }),
		field(preemption, func(s *spec) **int32 { return &s.Priority }),
		field(preemption, func(t *template) **int32 { return &t.Priority }),
	}
}
