package podvalidation

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/volume"
)

// Template validates a pod template at path.
func Template(o podspec.Options, t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, metav1validation.ValidateLabels(t.Labels, path.Child("labels"))...)
	errs = append(errs, validation.ValidateAnnotations(t.Annotations, path.Child("annotations"))...)
	errs = append(errs, Annotations(t.Annotations, &t.Spec, path.Child("annotations"))...)
	v := newChecker(o, &t.Spec)
	v.template = true
	errs = append(errs, v.podSpec(path.Child("spec"))...)
	errs = append(errs, ProfilesAgree(t.Annotations, &t.Spec, path.Child("spec"))...)
	if len(t.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(path.Child("spec", "ephemeralContainers"),
			"ephemeral containers not allowed in pod template"))
	}
	return errs
}

// PodSpec validates the spec of a pod.
func PodSpec(o podspec.Options, s *corev1.PodSpec, path *field.Path) field.ErrorList {
	return newChecker(o, s).podSpec(path)
}

func (v *checker) podSpec(path *field.Path) field.ErrorList {
	s := v.spec
	volumes, errs := volume.PodVolumes(s.Volumes, v.emptyImages, path.Child("volumes"))
	v.volumes = volumes
	v.Add(errs...)
	v.claimList(path.Child("resourceClaims"))
	v.containers(path)
	v.initContainers(path.Child("initContainers"))
	v.ephemeralContainers(path.Child("ephemeralContainers"))
	v.podResources(path.Child("resources"))
	v.hostNetworkPorts(path.Child("containers"))
	v.policies(path)
	v.Add(metav1validation.ValidateLabels(s.NodeSelector, path.Child("nodeSelector"))...)
	v.podSecurity(path)
	v.scheduling(path)
	v.hostProcess(path)
	v.hostUsers(path)
	v.identity(path)
	v.system(path)
	v.keyFiles(path)
	v.schedulingGroup(path.Child("schedulingGroup"))
	v.evictionResponders(s.EvictionResponders, path.Child("evictionResponders"))
	return v.Errors
}

// checker walks through a pod spec and collects what is wrong.
type checker struct {
	check.Collector
	spec    *corev1.PodSpec
	volumes map[string]*corev1.Volume
	claims  sets.Set[string]
	// privileged containers are allowed
	privileged bool
	// mirror is as Options has it.
	mirror bool
	// emptyImages, comparedTolerations and hostNetworkUsers are as Options has them.
	emptyImages, comparedTolerations, hostNetworkUsers bool
	oneRestarts                                        bool // OneContainerRestarts
	anyHostname                                        bool // AnyHostname
	addresses                                          check.Addresses
	selinuxMounts                                      bool // SELinuxMounts
	// template is set for a template, whose images may be named later
	template bool
}

func newChecker(o podspec.Options, s *corev1.PodSpec) *checker {
	return &checker{spec: s, volumes: map[string]*corev1.Volume{}, claims: sets.New[string](),
		privileged: o.AllowPrivileged, mirror: o.Mirror,
		comparedTolerations: o.ComparedTolerations, hostNetworkUsers: o.HostNetworkUsers, oneRestarts: o.OneContainerRestarts,
		anyHostname: o.AnyHostname, addresses: o.Addresses,
		selinuxMounts: o.SELinuxMounts, emptyImages: o.EmptyImages}
}

// policies validates how the pod ends and how it resolves names.
func (v *checker) policies(path *field.Path) {
	s := v.spec
	v.Add(check.RequiredOneOf(s.RestartPolicy, path.Child("restartPolicy"), corev1.RestartPolicyAlways,
		corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	v.Add(check.RequiredOneOf(s.DNSPolicy, path.Child("dnsPolicy"), corev1.DNSClusterFirstWithHostNet,
		corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
}

// system validates what the pod is to the cluster: its priority, its runtime, its
// operating system.
func (v *checker) system(path *field.Path) {
	s := v.spec
	if s.PriorityClassName != "" {
		v.Subdomain(s.PriorityClassName, path.Child("priorityClassName"))
	}
	if s.RuntimeClassName != nil {
		v.Subdomain(*s.RuntimeClassName, path.Child("runtimeClassName"))
	}
	if p := s.PreemptionPolicy; p != nil {
		v.Add(check.RequiredOneOf(*p, path.Child("preemptionPolicy"), corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	v.Add(Overhead(s.Overhead, path.Child("overhead"))...)
	v.os(path)
}

const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

func (v *checker) dns(path *field.Path) {
	d := v.spec.DNSConfig
	if v.spec.DNSPolicy == corev1.DNSNone {
		if d == nil {
			v.Add(field.Required(path, "must provide `dnsConfig` when `dnsPolicy` is None"))
			return
		}
		if len(d.Nameservers) == 0 {
			v.Add(field.Required(path.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None"))
		}
	}
	if d == nil {
		return
	}
	if len(d.Nameservers) > maxNameservers {
		v.Add(field.Invalid(path.Child("nameservers"), d.Nameservers, "must not have more than 3 nameservers"))
	}
	for i, ns := range d.Nameservers {
		v.Add(v.addresses.IP(ns, path.Child("nameservers").Index(i))...)
	}
	if len(d.Searches) > maxSearches {
		v.Add(field.Invalid(path.Child("searches"), d.Searches, "must not have more than 32 search paths"))
	}
	if n := len(strings.Join(d.Searches, " ")); n > maxSearchChars {
		v.Add(field.Invalid(path.Child("searches"), d.Searches,
			"must not have more than 2048 characters (including spaces) in the search list"))
	}
	for i, s := range d.Searches {
		if s = strings.TrimSuffix(s, "."); s != "" || d.Searches[i] == "" {
			v.Messages(utilvalidation.IsDNS1123SubdomainWithUnderscore(s), s, path.Child("searches").Index(i))
		}
	}
	for i := range d.Options {
		if d.Options[i].Name == "" {
			v.Add(field.Required(path.Child("options").Index(i), "must not be empty"))
		}
	}
}

// identity validates names: of the host, the node, the account.
func (v *checker) identity(path *field.Path) {
	s := v.spec
	if s.ServiceAccountName != "" {
		v.Subdomain(s.ServiceAccountName, path.Child("serviceAccountName"))
	}
	if h := s.HostnameOverride; h != nil {
		v.hostnameOverride(*h, path.Child("hostnameOverride"))
	}
	if s.NodeName != "" {
		v.Subdomain(s.NodeName, path.Child("nodeName"))
	}
	if d := s.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > math.MaxInt32) {
		v.Add(field.Invalid(path.Child("activeDeadlineSeconds"), *d, utilvalidation.InclusiveRangeError(1, math.MaxInt32)))
	}
	if s.Hostname != "" && !v.anyHostname {
		v.Label(s.Hostname, path.Child("hostname"))
	}
	if s.Subdomain != "" && !v.anyHostname {
		v.Label(s.Subdomain, path.Child("subdomain"))
	}
	v.Add(Tolerations(s.Tolerations, v.comparedTolerations, path.Child("tolerations"))...)
	for i := range s.HostAliases {
		p := path.Child("hostAliases").Index(i)
		v.Add(v.addresses.IP(s.HostAliases[i].IP, p.Child("ip"))...)
		for j, h := range s.HostAliases[i].Hostnames {
			v.Subdomain(h, p.Child("hostnames").Index(j))
		}
	}
}

func (v *checker) hostnameOverride(h string, path *field.Path) {
	if f := v.spec.SetHostnameAsFQDN; f != nil && *f {
		v.Add(field.Forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
	}
	if v.spec.HostNetwork {
		v.Add(field.Forbidden(path, "may not be specified when hostNetwork is true"))
	}
	if len(h) > 64 {
		v.Add(field.TooLong(path, h, 64))
	}
	v.Subdomain(h, path)
}
