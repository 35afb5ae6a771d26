package specdiff

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// internalOrder names the fields of types whose internal form has other fields,
// or the same in another order, than what is served.
var internalOrder = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PodSpec](): {
		"Volumes", "InitContainers", "Containers", "EphemeralContainers", "RestartPolicy",
		"TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "DNSPolicy", "NodeSelector", "ServiceAccountName",
		"AutomountServiceAccountToken", "NodeName", "SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain",
		"SetHostnameAsFQDN", "Affinity", "SchedulerName", "Tolerations", "HostAliases", "PriorityClassName", "Priority",
		"PreemptionPolicy", "DNSConfig", "ReadinessGates", "RuntimeClassName", "Overhead", "EnableServiceLinks",
		"TopologySpreadConstraints", "OS", "SchedulingGates", "ResourceClaims", "Resources", "HostnameOverride",
		"SchedulingGroup",
	},
	reflect.TypeFor[corev1.PodSecurityContext](): {
		"SELinuxOptions", "WindowsOptions", "RunAsUser", "RunAsGroup", "RunAsNonRoot", "SupplementalGroups",
		"SupplementalGroupsPolicy", "FSGroup", "FSGroupChangePolicy", "Sysctls", "SeccompProfile", "AppArmorProfile",
		"SELinuxChangePolicy",
	},
	reflect.TypeFor[corev1.VolumeSource](): {
		"HostPath", "EmptyDir", "GCEPersistentDisk", "AWSElasticBlockStore", "GitRepo", "Secret", "NFS", "ISCSI",
		"Glusterfs", "PersistentVolumeClaim", "RBD", "Quobyte", "FlexVolume", "Cinder", "CephFS", "Flocker",
		"DownwardAPI", "FC", "AzureFile", "ConfigMap", "VsphereVolume", "AzureDisk", "PhotonPersistentDisk",
		"Projected", "PortworxVolume", "ScaleIO", "StorageOS", "CSI", "Ephemeral", "Image",
	},
	reflect.TypeFor[corev1.PersistentVolumeSource](): {
		"GCEPersistentDisk", "AWSElasticBlockStore", "HostPath", "Glusterfs", "NFS", "RBD", "Quobyte", "ISCSI",
		"FlexVolume", "Cinder", "CephFS", "FC", "Flocker", "AzureFile", "VsphereVolume", "AzureDisk",
		"PhotonPersistentDisk", "PortworxVolume", "ScaleIO", "Local", "StorageOS", "CSI",
	},
}
