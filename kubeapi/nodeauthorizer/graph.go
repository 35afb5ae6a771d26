package nodeauthorizer

import (
	"sync"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

type kind uint8

const (
	secret kind = iota
	configMap
	claim
	serviceAccount
	resourceClaim
)

// object is something that pods use.
type object struct {
	kind            kind
	namespace, name string
}

type name struct{ namespace, name string }

// use is that a node's pods use an object.
type use struct {
	object
	node string
}

type podEntry struct {
	node string
	uses []object
}

type volumeEntry struct {
	claim   name
	secrets []name
}

// graph is who uses what. The zero value is not ready: see New.
type graph struct {
	mu   sync.RWMutex
	pods map[name]podEntry
	// uses counts the pods of a node that use an object.
	uses    map[use]int
	volumes map[string]volumeEntry
	// volumesOf are the persistent volumes that need a secret.
	volumesOf   map[name]map[string]bool
	attachments map[string]string // to nodes
	slices      map[string]string // to nodes
	// certificates are the requests of certificates for pods, to nodes.
	certificates map[name]string
}

func (g *graph) setPod(p *corev1.Pod) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := name{p.Namespace, p.Name}
	g.dropPod(n)
	if p.Spec.NodeName == "" {
		return
	}
	e := podEntry{node: p.Spec.NodeName}
	// A mirror pod is the node's own word: it must not give the node anything.
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; !mirror {
		e.uses = usesOf(p)
	}
	g.pods[n] = e
	for _, o := range e.uses {
		g.uses[use{o, e.node}]++
	}
}

func (g *graph) dropPod(n name) {
	e, ok := g.pods[n]
	if !ok {
		return
	}
	delete(g.pods, n)
	for _, o := range e.uses {
		u := use{o, e.node}
		if g.uses[u]--; g.uses[u] <= 0 {
			delete(g.uses, u)
		}
	}
}

func (g *graph) setVolume(v *corev1.PersistentVolume) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropVolume(v.Name)
	if v.Spec.ClaimRef == nil {
		return
	}
	e := volumeEntry{claim: name{v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name}, secrets: secretsOfVolume(v)}
	g.volumes[v.Name] = e
	for _, s := range e.secrets {
		if g.volumesOf[s] == nil {
			g.volumesOf[s] = map[string]bool{}
		}
		g.volumesOf[s][v.Name] = true
	}
}

func (g *graph) dropVolume(volume string) {
	e, ok := g.volumes[volume]
	if !ok {
		return
	}
	delete(g.volumes, volume)
	for _, s := range e.secrets {
		if delete(g.volumesOf[s], volume); len(g.volumesOf[s]) == 0 {
			delete(g.volumesOf, s)
		}
	}
}

// reaches reports whether a pod of the node uses the object, for secrets also by
// way of a volume.
func (g *graph) reaches(node string, o object) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.uses[use{o, node}] > 0 {
		return true
	}
	if o.kind != secret {
		return false
	}
	for volume := range g.volumesOf[name{o.namespace, o.name}] {
		if g.usesVolume(node, volume) {
			return true
		}
	}
	return false
}

func (g *graph) usesVolume(node, volume string) bool {
	e, ok := g.volumes[volume]
	return ok && g.uses[use{object{claim, e.claim.namespace, e.claim.name}, node}] > 0
}

func (g *graph) reachesVolume(node, volume string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.usesVolume(node, volume)
}

func (g *graph) runs(node, namespace, pod string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.pods[name{namespace, pod}].node == node
}

func (g *graph) attaches(node, attachment string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.attachments[attachment] == node
}

func (g *graph) publishes(node, slice string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.slices[slice] == node
}

func (g *graph) requested(node, namespace, request string) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	of, ok := g.certificates[name{namespace, request}]
	return ok && of == node
}

// Handler feeds the authorizer from an informer of pods, persistent volumes,
// volume attachments, resource slices or requests of certificates for pods.
func (a *Authorizer) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    a.graph.set,
		UpdateFunc: func(_, o any) { a.graph.set(o) },
		DeleteFunc: a.graph.remove,
	}
}

func (g *graph) set(o any) {
	switch o := o.(type) {
	case *corev1.Pod:
		g.setPod(o)
	case *corev1.PersistentVolume:
		g.setVolume(o)
	case *storagev1.VolumeAttachment:
		g.mu.Lock()
		defer g.mu.Unlock()
		g.attachments[o.Name] = o.Spec.NodeName
	case *certificatesv1.PodCertificateRequest:
		g.setCertificate(o, string(o.Spec.NodeName))
	case *certificatesv1beta1.PodCertificateRequest:
		g.setCertificate(o, string(o.Spec.NodeName))
	case *resourcev1.ResourceSlice:
		g.mu.Lock()
		defer g.mu.Unlock()
		if o.Spec.NodeName != nil {
			g.slices[o.Name] = *o.Spec.NodeName
		} else {
			delete(g.slices, o.Name)
		}
	}
}

func (g *graph) setCertificate(request metav1.Object, node string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.certificates[name{request.GetNamespace(), request.GetName()}] = node
}

func (g *graph) remove(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch o := o.(type) {
	case *corev1.Pod:
		g.dropPod(name{o.Namespace, o.Name})
	case *corev1.PersistentVolume:
		g.dropVolume(o.Name)
	case *storagev1.VolumeAttachment:
		delete(g.attachments, o.Name)
	case *certificatesv1.PodCertificateRequest:
		delete(g.certificates, name{o.Namespace, o.Name})
	case *certificatesv1beta1.PodCertificateRequest:
		delete(g.certificates, name{o.Namespace, o.Name})
	case *resourcev1.ResourceSlice:
		delete(g.slices, o.Name)
	}
}
