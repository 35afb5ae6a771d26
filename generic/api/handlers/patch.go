package handlers

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// PatchTypes are the media types of patches that the scope takes.
func (s *RequestScope) PatchTypes() []string {
	t := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if s.StrategicMerge {
		t = append(t, string(types.StrategicMergePatchType))
	}
	t = append(t, string(types.ApplyYAMLPatchType))
	if s.CBOR {
		t = append(t, string(types.ApplyCBORPatchType))
	}
	return t
}

// Patch serves patch and apply.
func Patch(scope *RequestScope) http.HandlerFunc {
	patchTypes := scope.PatchTypes()
	return scope.mutate(func(m *mutation) (runtime.Object, bool, error) {
		p := &patch{mutation: m}
		return p.run(patchTypes)
	})
}

// patch is a patch or apply.
type patch struct {
	*mutation
	kind   types.PatchType
	opts   *metav1.PatchOptions
	strict string // the field validation directive
}

func (p *patch) run(patchTypes []string) (_ runtime.Object, _ bool, err error) {
	contentType, _, _ := strings.Cut(p.req.Header.Get("Content-Type"), ";")
	if !slices.Contains(patchTypes, contentType) {
		return nil, false, negotiation.UnsupportedMediaType(patchTypes)
	}
	if err := p.begin(); err != nil {
		return nil, false, err
	}
	p.kind = types.PatchType(contentType)
	if p.opts, err = patchOptions(p.req, p.kind); err != nil {
		return nil, false, err
	}
	if err := p.checkBody(); err != nil {
		return nil, false, err
	}
	if err := p.by(p.opts.FieldManager, p.opts.DryRun); err != nil {
		return nil, false, err
	}
	auditPatch(p.ctx, p.body, p.kind)
	p.strict, p.options = fieldValidation(p.opts.FieldValidation), toUpdateOptions(p.opts)
	p.needFields = p.isApply()
	return p.update(rest.UpdateRequest{Change: p.change, ForceAllowCreate: p.needFields})
}

// checkBody refuses a patch that is nested too deep, or no JSON. decodeApply looks at the body of an apply.
func (p *patch) checkBody() error {
	if p.isApply() {
		return nil
	}
	if err := wire.CheckDepth(p.body); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	if !json.Valid(p.body) {
		return apierrors.NewBadRequest("invalid JSON patch")
	}
	return nil
}

func (p *patch) isApply() bool {
	return p.kind == types.ApplyYAMLPatchType || p.kind == types.ApplyCBORPatchType
}

// change is rest.UpdateRequest.Change.
func (p *patch) change(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := p.apply(ctx, old)
	if err != nil {
		return nil, err
	}
	return obj, p.admitted(ctx, obj, old)
}

// apply returns the patched object.
func (p *patch) apply(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	s := p.scope
	exists, err := hasUID(old)
	if err != nil {
		return nil, err
	}
	var obj runtime.Object
	switch {
	case p.isApply():
		obj, err = p.serverSideApply(ctx, old, exists)
	case !exists:
		return nil, apierrors.NewNotFound(s.resource(), p.name)
	case p.kind == types.StrategicMergePatchType:
		obj, err = p.strategicMerge(ctx, old)
	default:
		obj, err = p.jsonPatch(ctx, old)
	}
	if err != nil {
		return nil, err
	}
	if err := p.checkIdentity(obj, exists); err != nil {
		return nil, err
	}
	return obj, nil
}

// checkIdentity refuses a patch that makes another object of this one.
func (p *patch) checkIdentity(obj runtime.Object, exists bool) error {
	s := p.scope
	m, err := meta.Accessor(obj)
	if err != nil {
		return checkName(obj, p.name)
	}
	if !exists && m.GetUID() != "" {
		return apierrors.NewConflict(s.resource(), p.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", m.GetUID()))
	}
	namespace := ""
	if s.Namespaced {
		namespace = p.namespace
	}
	if err := matchNamespace(m, namespace); err != nil {
		return err
	}
	return checkName(obj, p.name)
}

// owned records who changed what.
func (p *patch) owned(ctx context.Context, old, obj runtime.Object) runtime.Object {
	if p.fields == nil {
		return obj
	}
	return p.fields.Update(ctx, old, obj, p.manager)
}

// strictness validates what strict decoding found, of which Ignore asks nothing.
func (p *patch) strictness(value string, errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	if p.strict == metav1.FieldValidationWarn {
		warnStrict(p.req, errs)
		return nil
	}
	return invalidPatch(value, runtime.NewStrictDecodingError(errs).Error())
}

// wantsStrict reports whether unknown and duplicate fields matter.
func (p *patch) wantsStrict() bool { return p.strict != metav1.FieldValidationIgnore }

// invalidPatch is the 422 status for a patch whose result is no such object.
func invalidPatch(value, why string) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), value, why)})
}

func patchOptions(req *http.Request, kind types.PatchType) (*metav1.PatchOptions, error) {
	return options.Read(req, &metav1.PatchOptions{}, "PatchOptions", func(o *metav1.PatchOptions) field.ErrorList {
		return validation.ValidatePatchOptions(o, kind)
	})
}

// toUpdateOptions are the options of the update that a patch is for the storage.
func toUpdateOptions(opts *metav1.PatchOptions) *metav1.UpdateOptions {
	o := &metav1.UpdateOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return o
}
