package fieldgates

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// table lists what belongs to which feature and is no single field, or has no marker.
func table() []rule {
	return slices.Concat(podRules(), podStatusRules(), volumeRules(), workloadRules())
}

func workloadRules() []rule {
	return []rule{
		field("DeploymentReplicaSetTerminatingReplicas",
			func(s *appsv1.DeploymentStatus) **int32 { return &s.TerminatingReplicas }),
		field("DeploymentReplicaSetTerminatingReplicas",
			func(s *appsv1.ReplicaSetStatus) **int32 { return &s.TerminatingReplicas }),
		field("JobManagedBy", func(s *batchv1.JobSpec) **string { return &s.ManagedBy }),
		field("HPAGeneration", func(c *autoscalingv2.HorizontalPodAutoscalerCondition) **int64 { return &c.ObservedGeneration }),
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
		whole(field("CSIVolumeHealth",
			func(c *corev1.PersistentVolumeClaim) **corev1.VolumeHealthStatus { return &c.Status.HealthStatus })),
		field("VolumeAttributesClass", func(c *corev1.PersistentVolumeClaim) **string { return &c.Spec.VolumeAttributesClassName }),
	}
}
