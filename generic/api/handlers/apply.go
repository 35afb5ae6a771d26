package handlers

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/storage/wire"
)

// serverSideApply merges the body, which says all that its field manager wants, into the object, or creates it.
func (p *patch) serverSideApply(ctx context.Context, old runtime.Object, exists bool) (_ runtime.Object, err error) {
	s := p.scope
	if p.fields == nil {
		return nil, errors.New("server-side apply is not possible for a kind without a schema")
	}
	if !exists {
		old = s.Codec.New()
		old.GetObjectKind().SetGroupVersionKind(s.Kind)
	}
	decode := decodeApply
	if p.kind == types.ApplyCBORPatchType {
		decode = decodeApplyCBOR
	}
	config, distinct := decodeApplyJSON(p.body)
	if !distinct {
		config, err = decode(p.body)
	}
	if err != nil {
		return nil, err
	}
	force := p.opts.Force != nil && *p.opts.Force
	obj, err := p.fields.Apply(ctx, old, config, p.opts.FieldManager, force)
	if err != nil {
		return nil, err
	}
	if distinct || !p.wantsStrict() || p.kind == types.ApplyCBORPatchType { // CBOR has no duplicate keys
		return obj, nil
	}
	// A body with duplicate keys is reported after a conflict, as kube-apiserver does.
	if err := yaml.UnmarshalStrict(p.body, &map[string]any{}); err != nil {
		if p.strict == metav1.FieldValidationStrict {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error strict decoding patch: %v", err))
		}
		warnStrict(p.req, []error{err})
	}
	return obj, nil
}

// decodeApplyJSON parses a body that is JSON of the sort that means the same as YAML, and has no duplicate keys. Most
// clients send just that, and parsing YAML takes ten times as long.
func decodeApplyJSON(body []byte) (*unstructured.Unstructured, bool) {
	if !wire.IsPlainJSON(body) {
		return nil, false
	}
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if strict, err := kjson.UnmarshalStrict(body, &config.Object); err != nil || len(strict) > 0 || config.Object == nil {
		return nil, false
	}
	return config, true
}

// decodeApply parses the body of an apply. Whole numbers stay integers, however large they are.
func decodeApply(body []byte) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	b, err := yaml.YAMLToJSON(body)
	if err == nil {
		if deep := wire.CheckDepth(b); deep != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", deep))
		}
		err = kjson.UnmarshalCaseSensitivePreserveInts(b, &config.Object)
	}
	if err == nil {
		return config, nil
	}
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) && b == nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error encoding patch: %v", err))
	}
	err = cmp.Or(yaml.Unmarshal(body, &map[string]any{}), err) // the library's words for the whole of it
	return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
}

func decodeApplyCBOR(body []byte) (*unstructured.Unstructured, error) {
	config := &unstructured.Unstructured{Object: map[string]any{}}
	if err := wire.UnmarshalCBOR(body, &config.Object); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return config, nil
}
