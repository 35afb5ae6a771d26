package configured

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"triplane.dev/generic/guard/admission/policy"
)

// cached is the resource version of reads that the watch cache serves.
const cached = "0"

// Resources returns the resource of a kind; ok is false if it is not served.
type Resources func(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool)

// NewParams returns a reader of the param objects of policies, which are built-in objects or custom resources.
// It reads from the server's watch cache.
func NewParams(resources Resources, client dynamic.Interface) policy.Params {
	return &params{resources, client}
}

type params struct {
	resources Resources
	client    dynamic.Interface
}

// Resource implements policy.Params.
func (p *params) Resource(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool) {
	return p.resources(kind)
}

// Mapped returns Resources that look kinds up in the discovery of another server.
func Mapped(mapper meta.RESTMapper) Resources {
	return func(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool) {
		m, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return gvr, false, false
		}
		return m.Resource, m.Scope.Name() == meta.RESTScopeNameNamespace, true
	}
}

func (p *params) in(gvr schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return p.client.Resource(gvr)
	}
	return p.client.Resource(gvr).Namespace(namespace)
}

// Get implements policy.Params.
func (p *params) Get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (map[string]any,
	error) {
	obj, err := p.in(gvr, namespace).Get(ctx, name, metav1.GetOptions{ResourceVersion: cached})
	if err != nil {
		return nil, err
	}
	return obj.Object, nil
}

// List implements policy.Params.
func (p *params) List(ctx context.Context, gvr schema.GroupVersionResource, namespace,
	labelSelector string) ([]map[string]any, error) {
	all, err := p.in(gvr, namespace).List(ctx, metav1.ListOptions{ResourceVersion: cached, LabelSelector: labelSelector})
	if err != nil {
		return nil, err
	}
	out := make([]map[string]any, len(all.Items))
	for i := range all.Items {
		out[i] = named(&all.Items[i], all)
	}
	return out, nil
}

// named returns an item of a list with apiVersion and kind.
func named(u *unstructured.Unstructured, all *unstructured.UnstructuredList) map[string]any {
	if u.GetKind() == "" {
		u.SetKind(strings.TrimSuffix(all.GetKind(), "List"))
		u.SetAPIVersion(all.GetAPIVersion())
	}
	return u.Object
}
