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
	// PodLevelResize lets the resources of a pod as a whole be resized
	// (InPlacePodLevelResourcesVerticalScaling).
	PodLevelResize bool
	// FixedInitContainers forbids to resize init containers that are no sidecars
	// (InPlacePodVerticalScalingInitContainers is off).
	FixedInitContainers bool
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
	// EarlyPodResources completes a pod's own resources as a default, which belongs to the client
	// (PodLevelResourcesFixDefaulting is off).
	EarlyPodResources bool
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

// OptionsOf returns the settings that the groups of a server are built with.
func OptionsOf(d *group.Deps) Options {
	return Options{
		AllowPrivileged:     d.AllowPrivileged,
		ComparedTolerations: d.Gate("TaintTolerationComparisonOperators"),
		PodLevelResize:      d.Gate("InPlacePodLevelResourcesVerticalScaling"),
		HostNetworkUsers:    d.Gate("UserNamespacesHostNetworkSupport"),
		FixedResources:      !d.Gate("MutablePodResourcesForSuspendedJobs"),
		Addresses:           d.Addresses(),
		FixedPlacement:      !d.Gate("MutableSchedulingDirectivesForSuspendedJobs"),

		EarlyPodResources: !d.Gate("PodLevelResourcesFixDefaulting"),
		SELinuxMounts:     d.Gate("SELinuxMount"),

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
