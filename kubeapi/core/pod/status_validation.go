package pod

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/check"
)

func validateStatus(a check.Addresses, p, old pod) field.ErrorList {
	path, s := field.NewPath("status"), &p.Status
	errs := append(mirrorAnnotation(p, old), conditions(s.Conditions, path.Child("conditions"))...)
	if old.Spec.NodeName != "" && p.Spec.NodeName != old.Spec.NodeName {
		errs = append(errs, field.Forbidden(path.Child("nodeName"), "may not be changed directly"))
	}
	if n := s.NominatedNodeName; n != "" {
		errs = append(errs, check.Subdomain(n, path.Child("nominatedNodeName"))...)
		if p.Spec.NodeName != "" && n != old.Status.NominatedNodeName {
			errs = append(errs, field.Forbidden(path.Child("nominatedNodeName"),
				"may not be set on pods that are already bound to a node"))
		}
	}
	errs = append(errs, observedGeneration(s.ObservedGeneration, path)...)
	if old.Status.QOSClass != "" && s.QOSClass != old.Status.QOSClass {
		errs = append(errs, field.Invalid(path.Child("qosClass"), s.QOSClass, check.ImmutableMsg))
	}
	errs = append(errs, containersStayEnded(p, old, path)...)
	errs = append(errs, claimStatuses(s.ResourceClaimStatuses, p.Spec.ResourceClaims,
		path.Child("resourceClaimStatuses"))...)
	allocatable := path.Child("nodeAllocatableResourceClaimStatuses")
	errs = append(errs, nodeAllocatable(p, allocatable)...)
	errs = append(errs, extendedResourceClaim(s.ExtendedResourceClaimStatus, &p.Spec,
		path.Child("extendedResourceClaimStatus"))...)
	errs = append(errs, podIPs(a, s, path.Child("podIPs"))...)
	errs = append(errs, hostIPs(a, s, path.Child("hostIPs"))...)
	errs = append(errs, containerStatuses(p, path)...)
	errs = append(errs, volumeHealth(s.VolumeHealth, p.Spec.Volumes, path.Child("volumeHealth"))...)
	return append(errs, nodeAllocatableKeys(s.NodeAllocatableResourceClaimStatuses, allocatable)...)
}

// volumeHealth validates that each entry is about a volume of the pod, and that none has two.
func volumeHealth(list []corev1.PodVolumeHealth, volumes []corev1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known, seen := sets.New[string](), sets.New[string]()
	for i := range volumes {
		known.Insert(volumes[i].Name)
	}
	for i := range list {
		name, p := list[i].Name, path.Index(i)
		switch {
		case name == "":
			errs = append(errs, field.Required(p.Child("name"), ""))
		case seen.Has(name):
			errs = append(errs, field.Duplicate(p, list[i]))
		case !known.Has(name):
			errs = append(errs, field.NotFound(p.Child("name"), name))
		}
		seen.Insert(name)
	}
	return errs
}

func observedGeneration(n int64, owner *field.Path) field.ErrorList {
	if n >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(owner.Child("observedGeneration"), n, "must be a non-negative integer")}
}

// systemConditions are those that the system itself gives to pods.
var systemConditions = sets.New(corev1.PodScheduled, corev1.PodReady, corev1.PodInitialized)

func conditions(list []corev1.PodCondition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		c, p := &list[i], path.Index(i)
		errs = append(errs, observedGeneration(c.ObservedGeneration, p)...)
		if !systemConditions.Has(c.Type) {
			errs = append(errs, check.QualifiedName(string(c.Type), p.Child("Type"))...)
		}
	}
	return errs
}

// containersStayEnded refuses that a container runs again which may not be started
// once more.
func containersStayEnded(p, old pod, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	check := func(name string, now, before []corev1.ContainerStatus, containers []corev1.Container) {
		spec, running := named(containers), map[string]int{}
		for j := range now {
			if now[j].State.Terminated == nil {
				running[now[j].Name]++
			}
		}
		for i := range before {
			if before[i].State.Terminated == nil || restarts(&before[i], spec, old.Spec.RestartPolicy) {
				continue
			}
			for range running[before[i].Name] {
				errs = append(errs, field.Forbidden(path.Child(name).Index(i).Child("state"),
					"may not be transitioned to non-terminated state"))
			}
			if len(errs) >= rest.MaxCauses { // no answer has more
				return
			}
		}
	}
	check("containerStatuses", p.Status.ContainerStatuses, old.Status.ContainerStatuses, old.Spec.Containers)
	check("initContainerStatuses", p.Status.InitContainerStatuses, old.Status.InitContainerStatuses,
		old.Spec.InitContainers)
	check("ephemeralContainerStatuses", p.Status.EphemeralContainerStatuses, old.Status.EphemeralContainerStatuses, nil)
	return errs
}

// restarts reports whether a container that has ended may run again. Its own policy comes
// before the pod's; one that the pod does not have stays ended.
func restarts(c *corev1.ContainerStatus, containers byName, policy corev1.RestartPolicy) bool {
	spec := containers[c.Name]
	if spec == nil {
		return false
	}
	if len(spec.RestartPolicyRules) > 0 {
		return true
	}
	if own := spec.RestartPolicy; own != nil {
		policy = corev1.RestartPolicy(*own)
	}
	return policy == corev1.RestartPolicyAlways ||
		policy == corev1.RestartPolicyOnFailure && c.State.Terminated.ExitCode != 0
}

func claimStatuses(list []corev1.PodResourceClaimStatus, claims []corev1.PodResourceClaim,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	known, seen := sets.New[string](), sets.New[string]()
	for i := range claims {
		known.Insert(claims[i].Name)
	}
	for i := range list {
		c, p := &list[i], path.Index(i)
		if !known.Has(c.Name) {
			errs = append(errs, field.Invalid(p.Child("name"), c.Name,
				"must match the name of an entry in `spec.resourceClaims`"))
		}
		if seen.Has(c.Name) {
			errs = append(errs, field.Duplicate(p.Child("name"), c.Name))
		}
		seen.Insert(c.Name)
		if c.ResourceClaimName != nil {
			errs = append(errs, check.Subdomain(*c.ResourceClaimName, p.Child("resourceClaimName"))...)
		}
	}
	return errs
}

// extendedResourceClaim validates which devices of the claim that a scheduler made
// for a pod serve its extended resources (KEP-5004).
func extendedResourceClaim(s *corev1.PodExtendedResourceClaimStatus, spec *corev1.PodSpec,
	claim *field.Path) field.ErrorList {
	if s == nil {
		return nil
	}
	var errs field.ErrorList
	mappings := claim.Child("requestMappings")
	if len(s.RequestMappings) == 0 {
		errs = append(errs, field.Required(mappings, "at least one request mapping is required"))
	}
	seen := sets.New[corev1.ContainerExtendedResourceRequest]()
	first, containers := named(spec.InitContainers), named(spec.Containers)
	for i := range s.RequestMappings {
		m, path := &s.RequestMappings[i], mappings.Index(i)
		c := cmp.Or(first[m.ContainerName], containers[m.ContainerName])
		if c == nil {
			errs = append(errs, field.Invalid(path.Child("containerName"), m.ContainerName,
				"must match the name of an entry in spec.initContainers.name or spec.containers.name"))
		} else if _, ok := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !ok {
			errs = append(errs, field.Invalid(path.Child("resourceName"), m.ResourceName,
				"must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests"))
		}
		// The path is that of the status, not of the mapping, as kube-apiserver has it.
		errs = append(errs, check.Label(m.RequestName, claim.Child("requestName"))...)
		if seen.Has(*m) {
			errs = append(errs, field.Duplicate(path.Child("containerName"), m.ContainerName),
				field.Duplicate(path.Child("resourceName"), m.ResourceName), field.Duplicate(path.Child("requestName"),
					m.RequestName))
		}
		seen.Insert(*m)
	}
	if s.ResourceClaimName == "" {
		return append(errs, field.Required(claim.Child("resourceClaimName"), ""))
	}
	return append(errs, check.Subdomain(s.ResourceClaimName, claim.Child("resourceClaimName"))...)
}

// address is what PodIP and HostIP are.
type address struct {
	IP string `json:"ip"`
}

func podIPs(a check.Addresses, s *corev1.PodStatus, path *field.Path) field.ErrorList {
	ips := make([]address, len(s.PodIPs))
	for i := range s.PodIPs {
		ips[i] = address(s.PodIPs[i])
	}
	errs := addresses(a, ips, path)
	if len(ips) > 0 && ips[0].IP == "" { // podIP is the first of them
		errs = append(errs, field.Invalid(path, ips, "podIP and podIPs must either both be set or both be unset"))
	}
	return errs
}

func hostIPs(a check.Addresses, s *corev1.PodStatus, path *field.Path) field.ErrorList {
	if len(s.HostIPs) == 0 {
		return nil
	}
	var errs field.ErrorList
	if first := s.HostIPs[0].IP; first != s.HostIP {
		errs = append(errs, field.Invalid(path.Index(0).Child("ip"), first, "must be equal to `hostIP`"))
	}
	ips := make([]address, len(s.HostIPs))
	for i := range s.HostIPs {
		ips[i] = address(s.HostIPs[i])
	}
	return append(errs, addresses(a, ips, path)...)
}

// addresses validates a list of at most one address a family.
func addresses(a check.Addresses, ips []address, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	texts := make([]string, len(ips))
	for i := range ips {
		texts[i] = ips[i].IP
		errs = append(errs, a.IP(texts[i], path.Index(i))...)
	}
	if len(ips) < 2 {
		return errs
	}
	dual, err := netutils.IsDualStackIPStrings(texts)
	if err != nil {
		errs = append(errs, field.InternalError(path, fmt.Errorf("failed to check for dual stack with error:%w", err)))
	}
	if !dual || len(ips) > 2 {
		errs = append(errs, field.Invalid(path, ips, "may specify no more than one IP for each IP family"))
	}
	return errs
}
