package handlers

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// serverSideApply merges the body, which says all that its field manager wants,
// into the object, or creates it.
func (p *patch) serverSideApply(old runtime.Object, exists bool) (runtime.Object, error) {
	s := p.op.scope
	if p.fields == nil {
		return nil, errors.New("server-side apply is not possible for a kind without a schema")
	}
	if !exists {
		old = s.Codec.New()
		old.GetObjectKind().SetGroupVersionKind(s.Kind)
	}
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if err := yaml.Unmarshal(p.body, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding YAML: %v", err))
	}
	force := p.opts.Force != nil && *p.opts.Force
	obj, err := p.fields.Apply(old, config, p.opts.FieldManager, force)
	if err != nil {
		return nil, err
	}
	if !p.wantsStrict() {
		return obj, nil
	}
	// A body with duplicate keys is told after a conflict, as kube-apiserver does.
	if err := yaml.UnmarshalStrict(p.body, &map[string]any{}); err != nil {
		if p.strict == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding YAML: %v", err))
		}
		warnStrict(p.req, []error{err})
	}
	return obj, nil
}
