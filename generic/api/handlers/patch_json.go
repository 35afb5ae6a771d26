package handlers

import (
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
	if obj := p.quickMerge(versioned); obj != nil {
		return p.owned(ctx, old, obj), nil
	}
	before, err := s.Codec.Encode(nil, object.ViewOf(versioned).WithKind(versioned, s.Kind), wire.JSON)
	if err != nil {
		return nil, err
	}
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
	}
	patched, err = jsonpatch.Merge(ctx, doc, p.body)
	if errors.Is(err, jsonpatch.ErrBadPatch) {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	return patched, strictErrs, err
}

// quickMerge applies a merge patch to the top-level fields that it names, without decoding the others. It returns nil
// if the patch names the version or anything is wrong: errors show the whole document as the library writes it.
func (p *patch) quickMerge(versioned runtime.Object) runtime.Object {
	change := map[string]any{}
	if p.kind != types.MergePatchType || !p.wantsStrict() {
		return nil
	}
	if strictErrs, err := kjson.UnmarshalStrict(p.body, &change); err != nil || len(strictErrs) > 0 {
		return nil
	}
	if _, named := change["apiVersion"]; named {
		return nil
	}
	s := p.scope
	reduced, complete := touched(versioned, change)
	before, err := s.Codec.Encode(nil, object.ViewOf(reduced).WithKind(reduced, s.Kind), wire.JSON)
	if err != nil || !jsonpatch.Cheap(before, p.body) {
		return nil
	}
	after, ok := jsonpatch.SpliceMerge(before, p.body)
	if !ok {
		return nil
	}
	obj, strictErrs, err := p.decodeVersioned(after, complete)
	if err != nil || len(strictErrs) > 0 {
		return nil
	}
	return obj
}

// decodePatched parses the patched document into an object of the hub version.
func (p *patch) decodePatched(doc []byte) (runtime.Object, []error, error) {
	if !p.scope.Unstructured() {
		if obj, errs, ok := p.versionless(doc); ok {
			return obj, errs, nil
		}
	}
	return p.decodeVersioned(doc, func(runtime.Object) {})
}

// decodeVersioned is decodePatched for a document with an apiVersion. complete is called with the object before
// defaulting.
func (p *patch) decodeVersioned(doc []byte, complete func(runtime.Object)) (runtime.Object, []error, error) {
	s := p.scope
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
	complete(obj)
	s.Codec.Default(obj)
	hub, err := s.Codec.ToHub(obj)
	return hub, strictErrs, err
}

// versionless handles a document whose apiVersion the patch took away: kube-apiserver then knows none of its fields.
func (p *patch) versionless(doc []byte) (runtime.Object, []error, bool) {
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
