package quota

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/kubeapi/podspec"
)

// storageClassSuffix is between the name of a storage class and what is counted
// of its claims.
const storageClassSuffix = ".storageclass.storage.k8s.io/"

// Usage returns what an object of a resource takes.
func Usage(gr schema.GroupResource, obj runtime.Object) corev1.ResourceList {
	usage := corev1.ResourceList{countOf(gr): one()}
	switch o := obj.(type) {
	case *corev1.Pod:
		podUsage(usage, o)
	case *corev1.Service:
		serviceUsage(usage, &o.Spec)
	case *corev1.PersistentVolumeClaim:
		claimUsage(usage, o)
	case *corev1.ConfigMap, *corev1.Secret, *corev1.ResourceQuota, *corev1.ReplicationController:
		usage[corev1.ResourceName(gr.Resource)] = one()
	}
	return usage
}

// countOf is the resource that counts objects, whatever they are.
func countOf(gr schema.GroupResource) corev1.ResourceName {
	return corev1.ResourceName("count/" + gr.String())
}

func one() resource.Quantity { return *resource.NewQuantity(1, resource.DecimalSI) }

func podUsage(usage corev1.ResourceList, p *corev1.Pod) {
	if ended(p) {
		return
	}
	usage[corev1.ResourcePods] = one()
	for name, q := range podspec.Requests(&p.Spec) {
		usage[requests+name] = q
		if standard.Has(name) || hugePages(name) {
			usage[name] = q
		}
	}
	for name, q := range podspec.Limits(&p.Spec) {
		if standard.Has(limits + name) {
			usage[limits+name] = q
		}
	}
}

// ended pods use nothing, however long they stay.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func serviceUsage(usage corev1.ResourceList, s *corev1.ServiceSpec) {
	usage[corev1.ResourceServices] = one()
	ports := int64(0)
	switch s.Type {
	case corev1.ServiceTypeNodePort:
		ports = int64(len(s.Ports))
	case corev1.ServiceTypeLoadBalancer:
		usage[corev1.ResourceServicesLoadBalancers] = one()
		ports = int64(len(s.Ports))
		if a := s.AllocateLoadBalancerNodePorts; a != nil && !*a {
			ports = 0
			for i := range s.Ports {
				if s.Ports[i].NodePort != 0 {
					ports++
				}
			}
		}
	}
	usage[corev1.ResourceServicesNodePorts] = *resource.NewQuantity(ports, resource.DecimalSI)
}

func claimUsage(usage corev1.ResourceList, c *corev1.PersistentVolumeClaim) {
	class := deref(c.Spec.StorageClassName)
	if old, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		class = old
	}
	count := func(name corev1.ResourceName, q resource.Quantity) {
		usage[name] = q
		if class != "" {
			usage[corev1.ResourceName(class+storageClassSuffix)+name] = q
		}
	}
	count(corev1.ResourcePersistentVolumeClaims, one())
	size, ok := c.Spec.Resources.Requests[corev1.ResourceStorage]
	if !ok {
		return
	}
	if got, ok := c.Status.AllocatedResources[corev1.ResourceStorage]; ok && got.Cmp(size) > 0 {
		size = got
	}
	size = size.DeepCopy()
	size.RoundUp(0)
	count(corev1.ResourceRequestsStorage, size)
}

// Counts reports whether a quota's resource is one that objects of gr may take.
func Counts(gr schema.GroupResource, name corev1.ResourceName) bool {
	if name == countOf(gr) {
		return true
	}
	if gr.Group != "" {
		return false
	}
	switch gr.Resource {
	case "pods":
		if name == corev1.ResourcePods || podCompute.Has(name) || hugePages(name) ||
			strings.HasSuffix(string(name), "ephemeral-storage") {
			return true
		}
		rest, ok := strings.CutPrefix(string(name), requests)
		return ok && podspec.Extended(rest)
	case "services":
		return name == corev1.ResourceServices || name == corev1.ResourceServicesNodePorts ||
			name == corev1.ResourceServicesLoadBalancers
	case "persistentvolumeclaims":
		_, rest, ok := strings.Cut(string(name), storageClassSuffix)
		return claims.Has(name) || ok && claims.Has(corev1.ResourceName(rest))
	case "configmaps", "secrets", "resourcequotas", "replicationcontrollers":
		return string(name) == gr.Resource
	}
	return false
}
