package podspec

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
)

// Options are settings of the server that decide what a pod spec may say.
type Options struct {
	// Mirror says that the pod shows one that a kubelet runs from a file.
	Mirror bool
	// AllowPrivileged permits privileged containers (--allow-privileged).
	AllowPrivileged bool
	// ComparedTolerations permits tolerations with Gt and Lt
	// (TaintTolerationComparisonOperators).
	ComparedTolerations bool
	// PodLevel is what holds for the resources of a pod as a whole.
	PodLevel PodLevel
	// FixedInitContainers forbids to resize init containers that are no sidecars
	// (InPlacePodVerticalScalingInitContainers is off).
	FixedInitContainers bool
	// ResizeVolumes lets the limits of volumes in memory be resized
	// (InPlacePodVerticalScalingMemoryBackedVolumes).
	ResizeVolumes bool
	// HostNetworkUsers permits pods of the host's network with user namespaces
	// (UserNamespacesHostNetworkSupport).
	HostNetworkUsers bool
	// SpreadSelectorsAsGiven leaves the label keys of spread constraints out of their
	// selectors (MatchLabelKeysInPodTopologySpreadSelectorMerge is off).
	SpreadSelectorsAsGiven bool
	// OneContainerRestarts forbids restart rules that restart all containers
	// (RestartAllContainersOnContainerExits is off).
	OneContainerRestarts bool
	// FixedResources and FixedPlacement forbid changes of the resources of suspended
	// Jobs' pods, and, once they have started, of where they run
	// (MutablePodResourcesForSuspendedJobs and
	// MutableSchedulingDirectivesForSuspendedJobs are off).
	FixedResources, FixedPlacement bool
	// SELinuxMounts permits the change policy MountOption (SELinuxMount).
	SELinuxMounts bool
	// EmptyImages accepts image volumes without a reference.
	EmptyImages bool
	// AnyHostname accepts every hostname and subdomain, as those of a template whose
	// pods get others.
	AnyHostname bool
	// Addresses validates name servers, host aliases, and the addresses of a pod's status.
	Addresses check.Addresses
}

// PodLevel is what holds for the resources of a pod as a whole.
type PodLevel struct {
	// Resize lets them be resized (InPlacePodLevelResourcesVerticalScaling).
	Resize bool
	// Early completes them as a default, which belongs to the client, and from limits alone
	// (PodLevelResourcesFixDefaulting is off).
	Early bool
	// Empty lets them decide the pod's quality of service even if they are empty
	// (PodLevelResourcesFixKubeletQOSClass is off).
	Empty bool
}

// OptionsOf returns the settings that the groups of a server are built with.
func OptionsOf(d *group.Deps) Options {
	return Options{
		AllowPrivileged:     d.AllowPrivileged,
		ComparedTolerations: d.Gate("TaintTolerationComparisonOperators"),
		HostNetworkUsers:    d.Gate("UserNamespacesHostNetworkSupport"),
		FixedResources:      !d.Gate("MutablePodResourcesForSuspendedJobs"),
		Addresses:           d.Addresses(),
		FixedPlacement:      !d.Gate("MutableSchedulingDirectivesForSuspendedJobs"),

		PodLevel: PodLevel{Resize: d.Gate("InPlacePodLevelResourcesVerticalScaling"),
			Early: !d.Gate("PodLevelResourcesFixDefaulting"), Empty: !d.Gate("PodLevelResourcesFixKubeletQOSClass")},
		SELinuxMounts: d.Gate("SELinuxMount"),

		ResizeVolumes:          d.Gate("InPlacePodVerticalScalingMemoryBackedVolumes"),
		FixedInitContainers:    !d.Gate("InPlacePodVerticalScalingInitContainers"),
		OneContainerRestarts:   !d.Gate("RestartAllContainersOnContainerExits"),
		SpreadSelectorsAsGiven: !d.Gate("MatchLabelKeysInPodTopologySpreadSelectorMerge"),
	}
}

// Ratchet returns the options for the update of a template, which may keep what former releases accepted: image
// volumes without a reference.
func (o Options) Ratchet(old *corev1.PodSpec) Options {
	o.EmptyImages = slices.ContainsFunc(old.Volumes, func(v corev1.Volume) bool {
		return v.Image != nil &&
			v.Image.Reference == ""
	})
	return o
}
