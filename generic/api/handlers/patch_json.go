package handlers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kjson "sigs.k8s.io/json"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/jsonpatch"
	"triplane.dev/generic/storage/object"
	"triplane.dev/generic/storage/wire"
)

// maxJSONPatchOperations bounds the operations of one JSON patch.
const maxJSONPatchOperations = 10000

// jsonPatchOp is an operation of a JSON patch, for strict decoding. Its name shows in errors.
type jsonPatchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

// jsonPatch applies a JSON patch or merge patch to the JSON of the object.
func (p *patch) jsonPatch(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	s := p.scope
	versioned, err := s.Codec.FromHub(old)
	if err != nil {
		return nil, err
	}
	before, err := s.Codec.Encode(nil, object.ViewOf(versioned).WithKind(versioned, s.Kind), wire.JSON)
	if err != nil {
		return nil, err
	}
	p.spliced = false
	after, strictErrs, err := p.patchJSON(ctx, before)
	if err != nil {
		return nil, err
	}
	obj, more, err := p.decodePatched(after)
	strictErrs = append(strictErrs, more...)
	if apierrors.IsInvalid(err) {
		if strict := p.strictness(string(after), strictErrs); strict != nil {
			return nil, strict
		}
		return nil, err
	}
	if p.spliced && (err != nil || len(strictErrs) > 0) {
		// Messages show the document as the library writes it, and fields in its order.
		if general, mergeErr := jsonpatch.Merge(ctx, before, p.body); mergeErr == nil {
			after, p.spliced = general, false
			obj, strictErrs, err = p.decodePatched(after)
		}
	}
	if c := (*rest.ConversionError)(nil); errors.As(err, &c) {
		return nil, c
	}
	if err != nil {
		return nil, invalidPatch(string(after), err.Error())
	}
	if err := p.strictness(string(after), strictErrs); err != nil {
		return nil, err
	}
	return p.owned(ctx, old, obj), nil
}

// patchJSON returns the patched document and what strict decoding says about the patch itself.
func (p *patch) patchJSON(ctx context.Context, doc []byte) (patched []byte, strictErrs []error, err error) {
	if p.kind == types.MergePatchType {
		return p.mergeJSON(ctx, doc)
	}
	if p.wantsStrict() {
		var ops []jsonPatchOp
		if strictErrs, err = kjson.UnmarshalStrict(p.body, &ops); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		for i, e := range strictErrs {
			strictErrs[i] = fmt.Errorf("json patch %w", e)
		}
	}
	ops, err := jsonpatch.Decode(p.body)
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if ops.Len() > maxJSONPatchOperations {
		return nil, nil, apierrors.NewRequestEntityTooLargeError(
			fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, ops.Len()))
	}
	if patched, err = ops.Apply(ctx, doc); ctx.Err() != nil {
		return nil, nil, ctx.Err()
	} else if err != nil {
		return nil, nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
			err.Error(), 0, false)
	}
	return patched, strictErrs, nil
}

func (p *patch) mergeJSON(ctx context.Context, doc []byte) (patched []byte, strictErrs []error, err error) {
	if p.wantsStrict() {
		v := map[string]any{}
		if strictErrs, err = kjson.UnmarshalStrict(p.body, &v); err != nil {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		// The patch is valid JSON without duplicates, then.
		if len(strictErrs) == 0 && jsonpatch.Cheap(doc, p.body) {
			if patched, p.spliced = jsonpatch.SpliceMerge(doc, p.body); p.spliced {
				return patched, nil, nil
			}
		}
	}
	patched, err = jsonpatch.Merge(ctx, doc, p.body)
	if errors.Is(err, jsonpatch.ErrBadPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, strictErrs, err
}

// decodePatched parses the patched document into an object of the hub version.
func (p *patch) decodePatched(doc []byte) (runtime.Object, []error, error) {
	s := p.scope
	if !s.Unstructured() {
		if obj, errs, ok := p.versionless(doc); ok {
			return obj, errs, nil
		}
	}
	obj, kind, strictErrs, err := s.Codec.Decode(doc, wire.JSON, p.wantsStrict())
	if err != nil {
		if runtime.IsNotRegisteredError(err) && kind != nil {
			err = runtime.NewNotRegisteredErrForKind(s.schemeName(), *kind)
		}
		return nil, nil, err
	}
	if err := s.checkKind(obj, kind); err != nil {
		return nil, strictErrs, err
	}
	if s.untyped(obj) {
		if s.otherUntypedVersion(obj, kind) && s.Subresource != "status" {
			return obj, strictErrs, nil // there is nothing to convert; validation refuses it
		}
		s.setKind(obj, kind)
	}
	s.Codec.Default(obj)
	hub, err := s.Codec.ToHub(obj)
	return hub, strictErrs, err
}

// versionless handles a document whose apiVersion the patch took away: kube-apiserver then knows none of its fields.
func (p *patch) versionless(doc []byte) (runtime.Object, []error, bool) {
	if p.spliced && !bytes.Contains(p.body, []byte("apiVersion")) {
		return nil, nil, false // what has been spliced has no keys in disguise
	}
	var head struct {
		APIVersion string `json:"apiVersion"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(doc, &head) != nil || head.APIVersion != "" {
		return nil, nil, false
	}
	var top map[string]any
	if kjson.UnmarshalCaseSensitivePreserveInts(doc, &top) != nil {
		return nil, nil, false
	}
	names := make([]string, 0, len(top))
	for name := range top {
		if name != "kind" && name != "apiVersion" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var errs []error
	if p.wantsStrict() {
		for _, name := range names {
			errs = append(errs, fmt.Errorf("unknown field %q", name))
		}
	}
	hub, err := p.scope.Codec.ToHub(p.scope.Codec.New())
	return hub, errs, err == nil
}
