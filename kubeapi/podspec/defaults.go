package podspec

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/defaults"
)

// Default completes a pod template.
func Default(t *corev1.PodTemplateSpec) {
	t.Annotations = withoutInitContainers(t.Annotations)
	DefaultPodSpec(&t.Spec)
}

// formerAnnotations had the init containers of pods and their statuses before Kubernetes 1.8. They are dropped from
// pods and templates.
var formerAnnotations = [...]string{
	"pod.alpha.kubernetes.io/init-containers", "pod.beta.kubernetes.io/init-containers",
	"pod.alpha.kubernetes.io/init-container-statuses", "pod.beta.kubernetes.io/init-container-statuses",
}

// withoutInitContainers returns annotations without the former ones, in a new map if there are any.
func withoutInitContainers(annotations map[string]string) map[string]string {
	if len(annotations) == 0 {
		return annotations
	}
	for _, name := range formerAnnotations {
		if _, has := annotations[name]; has {
			rest := maps.Clone(annotations)
			maps.DeleteFunc(rest, func(key, _ string) bool { return slices.Contains(formerAnnotations[:], key) })
			return rest
		}
	}
	return annotations
}

// DefaultPod completes a pod: the spec, and what templates do not get (requests
// from limits, host ports, service links), but its own resources.
func DefaultPod(p *corev1.Pod) {
	p.Annotations = withoutInitContainers(p.Annotations)
	DefaultPodSpec(&p.Spec)
	requestsFromLimits(p.Spec.Containers)
	requestsFromLimits(p.Spec.InitContainers)
	defaults.Set(&p.Spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	if p.Spec.HostNetwork {
		hostPorts(p.Spec.Containers)
		hostPorts(p.Spec.InitContainers)
	}
}

// DefaultPodSpec completes what pods and templates have in common.
func DefaultPodSpec(s *corev1.PodSpec) {
	if s.DNSPolicy == "" {
		s.DNSPolicy = corev1.DNSClusterFirst
	}
	if s.RestartPolicy == "" {
		s.RestartPolicy = corev1.RestartPolicyAlways
	}
	if s.SecurityContext == nil {
		s.SecurityContext = &corev1.PodSecurityContext{}
	}
	defaults.Set(&s.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	if s.SchedulerName == "" {
		s.SchedulerName = corev1.DefaultSchedulerName
	}
	// Both names of the account field are kept equal, for clients that know
	// only one of them.
	if s.ServiceAccountName == "" {
		s.ServiceAccountName = s.DeprecatedServiceAccount
	}
	s.DeprecatedServiceAccount = s.ServiceAccountName
	for i := range s.Volumes {
		DefaultVolumeSource(&s.Volumes[i].VolumeSource)
	}
	for i := range s.InitContainers {
		defaultContainer(&s.InitContainers[i])
	}
	for i := range s.Containers {
		defaultContainer(&s.Containers[i])
	}
	for i := range s.EphemeralContainers {
		c := corev1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
		defaultContainer(&c)
		s.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
	roundRequirements(s.Resources)
	RoundResources(s.Overhead)
}

func defaultContainer(c *corev1.Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicy(c.Image)
	}
	if c.TerminationMessagePath == "" {
		c.TerminationMessagePath = corev1.TerminationMessagePathDefault
	}
	if c.TerminationMessagePolicy == "" {
		c.TerminationMessagePolicy = corev1.TerminationMessageReadFile
	}
	for i := range c.Ports {
		if c.Ports[i].Protocol == "" {
			c.Ports[i].Protocol = corev1.ProtocolTCP
		}
	}
	for i := range c.Env {
		defaultEnvSource(c.Env[i].ValueFrom)
	}
	roundRequirements(&c.Resources)
	defaultProbe(c.LivenessProbe)
	defaultProbe(c.ReadinessProbe)
	defaultProbe(c.StartupProbe)
	if c.Lifecycle != nil {
		defaultLifecycleHandler(c.Lifecycle.PostStart)
		defaultLifecycleHandler(c.Lifecycle.PreStop)
	}
}

func defaultEnvSource(from *corev1.EnvVarSource) {
	if from == nil {
		return
	}
	if from.FieldRef != nil {
		defaultFieldRef(from.FieldRef)
	}
	if from.FileKeyRef != nil && from.FileKeyRef.Optional == nil {
		from.FileKeyRef.Optional = ptr.To(false)
	}
}

func defaultFieldRef(r *corev1.ObjectFieldSelector) {
	if r.APIVersion == "" {
		r.APIVersion = "v1"
	}
}

func defaultProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setInt(&p.TimeoutSeconds, 1)
	setInt(&p.PeriodSeconds, 10)
	setInt(&p.SuccessThreshold, 1)
	setInt(&p.FailureThreshold, 3)
	defaultHTTPGet(p.HTTPGet)
	if p.GRPC != nil && p.GRPC.Service == nil {
		p.GRPC.Service = ptr.To("")
	}
}

func defaultLifecycleHandler(h *corev1.LifecycleHandler) {
	if h != nil {
		defaultHTTPGet(h.HTTPGet)
	}
}

func defaultHTTPGet(g *corev1.HTTPGetAction) {
	if g == nil {
		return
	}
	if g.Path == "" {
		g.Path = "/"
	}
	if g.Scheme == "" {
		g.Scheme = corev1.URISchemeHTTP
	}
}

func hostPorts(cs []corev1.Container) {
	for i := range cs {
		for j := range cs[i].Ports {
			if p := &cs[i].Ports[j]; p.HostPort == 0 {
				p.HostPort = p.ContainerPort
			}
		}
	}
}

func setInt(v *int32, def int32) {
	if *v == 0 {
		*v = def
	}
}
