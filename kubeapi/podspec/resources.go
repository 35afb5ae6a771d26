package podspec

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// RoundResources rounds quantities up to what is kept: a thousandth.
func RoundResources(l corev1.ResourceList) {
	for k, v := range l {
		v.RoundUp(-3)
		l[k] = v
	}
}

// requestsFromLimits sets the request of each resource that has a limit only.
func requestsFromLimits(cs []corev1.Container) {
	for i := range cs {
		r := &cs[i].Resources
		for k, v := range r.Limits {
			if _, ok := r.Requests[k]; ok {
				continue
			}
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			r.Requests[k] = v.DeepCopy()
		}
	}
}

// DefaultPodLevelResources completes the pod's own resources, where it has some, from its containers' and from its
// limits. Without all, CPU and memory get no limits, and requests only where something is limited
// (PodLevelResourcesFixDefaulting is off).
func DefaultPodLevelResources(s *corev1.PodSpec, all bool) {
	r := s.Resources
	if r == nil || len(r.Limits) == 0 && len(r.Requests) == 0 {
		return
	}
	if r.Limits == nil {
		r.Limits = corev1.ResourceList{}
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	limitPod(s, all)
	if all || len(r.Limits) > 0 {
		requestForPod(s)
	}
	if len(r.Limits) == 0 {
		r.Limits = nil
	}
	if len(r.Requests) == 0 {
		r.Requests = nil
	}
}

// limitPod limits the pod to what its containers are limited to together: huge pages, and with all CPU and memory if
// each container has a limit, ephemeral ones included, which cannot have one. A higher request of the pod, or of its
// containers together, raises it.
func limitPod(s *corev1.PodSpec, all bool) {
	r := s.Resources
	requests := Sum(s, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests })
	for k, v := range Sum(s, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits }) {
		if _, limited := r.Limits[k]; limited {
			continue
		}
		requested, ok := r.Requests[k]
		switch {
		case HugePages(k) && !ok:
			r.Limits[k] = v
		case all && !HugePages(k) && PodLevelResource(k) && limitsAll(s, k):
			if !ok {
				requested = requests[k]
			}
			if v.Cmp(requested) < 0 {
				v = requested.DeepCopy()
			}
			r.Limits[k] = v
		}
	}
}

// limitsAll reports whether each container has a limit of a resource.
func limitsAll(s *corev1.PodSpec, k corev1.ResourceName) bool {
	unlimited := func(c corev1.Container) bool {
		_, ok := c.Resources.Limits[k]
		return !ok
	}
	return len(s.EphemeralContainers) == 0 && !slices.ContainsFunc(s.Containers, unlimited) &&
		!slices.ContainsFunc(s.InitContainers, unlimited)
}

// requestForPod requests what the containers request together, and else what is limited.
func requestForPod(s *corev1.PodSpec) {
	r := s.Resources
	requests := Sum(s, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests })
	// those are as limited
	maps.DeleteFunc(requests, func(k corev1.ResourceName, _ resource.Quantity) bool { return HugePages(k) })
	for _, from := range []corev1.ResourceList{requests, r.Limits} {
		for k, v := range from {
			if _, ok := r.Requests[k]; !ok && PodLevelResource(k) {
				r.Requests[k] = v.DeepCopy()
			}
		}
	}
}

// HugePages reports whether a resource is one of huge pages.
func HugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// PodLevelResource reports whether a pod can ask for a resource as a whole.
func PodLevelResource(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || HugePages(name)
}

// Sum is what a pod needs of its containers at once: all containers and
// restartable init containers together, or any init container with the
// restartable ones started before it, whichever is more.
func Sum(s *corev1.PodSpec, of func(*corev1.Container) corev1.ResourceList) corev1.ResourceList {
	total, sidecars, initial := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range s.Containers {
		add(total, of(&s.Containers[i]))
	}
	for i := range s.InitContainers {
		c := &s.InitContainers[i]
		need := corev1.ResourceList{}
		add(need, of(c))
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(total, of(c))
			add(sidecars, of(c))
			need = sidecars
		} else {
			add(need, sidecars)
		}
		raise(initial, need)
	}
	raise(total, initial)
	return total
}

// Requests is what a pod requests: of its containers, or of itself where it says
// so, with the overhead of its runtime.
func Requests(s *corev1.PodSpec) corev1.ResourceList {
	return withOverhead(s, requestsOf, true)
}

// Limits is what a pod is limited to, counted as Requests.
func Limits(s *corev1.PodSpec) corev1.ResourceList {
	return withOverhead(s, limitsOf, false)
}

// WithoutOverhead returns what Requests and Limits return for a pod without overhead.
func WithoutOverhead(s *corev1.PodSpec) (requests, limits corev1.ResourceList) {
	return effective(s, requestsOf), effective(s, limitsOf)
}

type resourcesOf func(*corev1.ResourceRequirements) corev1.ResourceList

func requestsOf(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }
func limitsOf(r *corev1.ResourceRequirements) corev1.ResourceList   { return r.Limits }

func effective(s *corev1.PodSpec, of resourcesOf) corev1.ResourceList {
	total := Sum(s, func(c *corev1.Container) corev1.ResourceList { return of(&c.Resources) })
	if s.Resources != nil {
		for k, v := range of(s.Resources) {
			if PodLevelResource(k) {
				total[k] = v.DeepCopy()
			}
		}
	}
	return total
}

// withOverhead adds the overhead of the pod to its effective resources: to all that it names, or only to those
// that the containers have.
func withOverhead(s *corev1.PodSpec, of resourcesOf, overheadCounts bool) corev1.ResourceList {
	total := effective(s, of)
	for k, v := range s.Overhead {
		if q, ok := total[k]; ok || overheadCounts {
			q.Add(v)
			total[k] = q
		}
	}
	return total
}

func add(to, from corev1.ResourceList) {
	for k, v := range from {
		q := to[k].DeepCopy()
		q.Add(v)
		to[k] = q
	}
}

func raise(to, from corev1.ResourceList) {
	for k, v := range from {
		if q, ok := to[k]; !ok || v.Cmp(q) > 0 {
			to[k] = v.DeepCopy()
		}
	}
}

// RoundStatusResources rounds the quantities of a pod's status.
func RoundStatusResources(s *corev1.PodStatus) {
	RoundResources(s.AllocatedResources)
	roundRequirements(s.Resources)
	for _, containers := range [][]corev1.ContainerStatus{
		s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses,
	} {
		for i := range containers {
			RoundResources(containers[i].AllocatedResources)
			roundRequirements(containers[i].Resources)
		}
	}
}

func roundRequirements(r *corev1.ResourceRequirements) {
	if r != nil {
		RoundResources(r.Limits)
		RoundResources(r.Requests)
	}
}
