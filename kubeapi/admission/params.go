package admission

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"triplane/generic/discovery"
	"triplane/kubeapi/group"
)

// params finds the objects that parameterize policies, built-in ones and custom
// resources alike, in what the server serves. They come from the watch cache.
type params struct {
	groups *discovery.Groups
	client dynamic.Interface

	mu      sync.Mutex
	changed <-chan struct{} // closed when known is no longer true
	known   map[schema.GroupVersionKind]served
}

// served is the resource of a kind, if there is one.
type served struct {
	gvr        schema.GroupVersionResource
	namespaced bool
	ok         bool
}

// Resource implements policy.Params.
func (p *params) Resource(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.changed:
		p.known = nil
	default:
	}
	if p.known == nil {
		p.changed, p.known = p.groups.Changed(), map[schema.GroupVersionKind]served{}
	}
	s, found := p.known[kind]
	if !found {
		s = p.find(kind)
		p.known[kind] = s
	}
	return s.gvr, s.namespaced, s.ok
}

func (p *params) find(kind schema.GroupVersionKind) served {
	r, ok := p.groups.ResourceOf(kind)
	if !ok {
		return served{}
	}
	return served{kind.GroupVersion().WithResource(r.Name), r.Namespaced, true}
}

func (p *params) in(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return p.client.Resource(gvr)
	}
	return p.client.Resource(gvr).Namespace(namespace)
}

// Get implements policy.Params.
func (p *params) Get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	obj, err := p.in(gvr, namespace).Get(ctx, name, metav1.GetOptions{ResourceVersion: group.Cached})
	if err != nil {
		return nil, err
	}
	return obj.Object, nil
}

// List implements policy.Params.
func (p *params) List(ctx context.Context, gvr schema.GroupVersionResource, namespace, labelSelector string) ([]map[string]any, error) {
	all, err := p.in(gvr, namespace).List(ctx, metav1.ListOptions{ResourceVersion: group.Cached, LabelSelector: labelSelector})
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(all.Items))
	for i := range all.Items {
		out[i] = named(&all.Items[i], all)
	}
	return out, nil
}

// named is an item that says its kind, as it does outside of a list.
func named(u *unstructured.Unstructured, all *unstructured.UnstructuredList) map[string]any {
	if u.GetKind() == "" {
		u.SetKind(strings.TrimSuffix(all.GetKind(), "List"))
		u.SetAPIVersion(all.GetAPIVersion())
	}
	return u.Object
}
