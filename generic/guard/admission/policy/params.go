package policy

import (
	"context"
	"errors"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Params reads param objects. Objects are JSON values and must not be changed.
type Params interface {
	// Resource returns the resource of a kind; ok is false if it is not served.
	Resource(kind schema.GroupVersionKind) (gvr schema.GroupVersionResource, namespaced, ok bool)
	Get(ctx context.Context, gvr schema.GroupVersionResource, namespace, name string) (map[string]any, error)
	List(ctx context.Context, gvr schema.GroupVersionResource, namespace, labelSelector string) ([]map[string]any, error)
}

// paramSource is the resource of a policy's params. The zero paramSource has none.
type paramSource struct {
	kind       *schema.GroupVersionKind
	resource   schema.GroupVersionResource
	namespaced bool
}

// source resolves the paramKind of a policy.
func source(p Params, kind *schema.GroupVersionKind) (paramSource, error) {
	s := paramSource{kind: kind}
	if kind == nil {
		return s, nil
	}
	var ok bool
	if p != nil {
		s.resource, s.namespaced, ok = p.Resource(*kind)
	}
	if !ok {
		return s, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", *kind)
	}
	return s, nil
}

func paramKind(k *admissionv1.ParamKind) *schema.GroupVersionKind {
	if k == nil {
		return nil
	}
	gvk := schema.FromAPIVersionAndKind(k.APIVersion, k.Kind)
	return &gvk
}

// withoutParams is the result of collect for a policy without params: it is evaluated once.
var withoutParams = []map[string]any{nil}

// collect returns the params of a binding. The policy is evaluated once for each, so not at all for an empty
// result.
func (s paramSource) collect(ctx context.Context, p Params, ref *admissionv1.ParamRef,
	namespace string) ([]map[string]any, error) {
	if s.kind == nil || ref == nil {
		return withoutParams, nil
	}
	switch {
	case !s.namespaced && ref.Namespace != "":
		return nil, errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	case !s.namespaced:
		namespace = ""
	case ref.Namespace != "":
		namespace = ref.Namespace
	case namespace == "":
		return nil, errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	}
	params, err := s.find(ctx, p, ref, namespace)
	if err != nil {
		return nil, err
	}
	if len(params) == 0 && ref.ParameterNotFoundAction != nil && *ref.ParameterNotFoundAction == admissionv1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return params, nil
}

func (s paramSource) find(ctx context.Context, p Params, ref *admissionv1.ParamRef, namespace string) ([]map[string]any,
	error) {
	switch {
	case ref.Name != "" && ref.Selector != nil:
		return nil, errors.New("paramRef.name and paramRef.selector are mutually exclusive")
	case ref.Name != "":
		obj, err := p.Get(ctx, s.resource, namespace, ref.Name)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return []map[string]any{obj}, nil
	case ref.Selector != nil:
		selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
		if err != nil {
			return nil, err
		}
		return p.List(ctx, s.resource, namespace, selector.String())
	}
	return nil, errors.New("one of name or selector must be provided")
}
