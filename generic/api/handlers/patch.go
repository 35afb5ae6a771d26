package handlers

import (
	"context"
	"errors"
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

	"triplane/generic/api/managedfields"
	"triplane/generic/api/negotiation"
	"triplane/generic/api/rest"
	"triplane/generic/storage"
	"triplane/generic/storage/wire"
)

// patchRetries is how often a patch is tried again where another writer came
// first.
const patchRetries = 5

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
func Patch(scope *RequestScope, r rest.Patcher) http.HandlerFunc {
	patchTypes := scope.PatchTypes()
	return scope.handler(func(w http.ResponseWriter, req *http.Request) error {
		obj, created, out, err := scope.doPatch(req, r, patchTypes)
		if err != nil {
			return err
		}
		code := http.StatusOK
		if created {
			code = http.StatusCreated
		}
		a := answer{scope: scope, w: w, r: req, out: out}
		return a.respond(code, obj)
	})
}

// patch is the rest.UpdatedObjectInfo of a PATCH.
type patch struct {
	op      *operation
	req     *http.Request
	body    []byte
	kind    types.PatchType
	opts    *metav1.PatchOptions
	update  *metav1.UpdateOptions
	strict  string // the field validation directive
	fields  *managedfields.Manager
	manager string
	// dropFields leaves managed fields out, where the object is too large with
	// them.
	dropFields bool
	// spliced is true where the patched document was made by spliceMerge.
	spliced bool
}

func (s *RequestScope) doPatch(req *http.Request, r rest.Patcher, patchTypes []string) (_ runtime.Object, created bool, out negotiation.Output, err error) {
	contentType, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";")
	if !slices.Contains(patchTypes, contentType) {
		return nil, false, out, negotiation.UnsupportedMediaType(patchTypes)
	}
	ctx, namespace, name, err := s.target(req)
	if err != nil {
		return nil, false, out, err
	}
	if out, err = negotiation.Negotiate(req, s.rules()); err != nil {
		return nil, false, out, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return nil, false, out, err
	}
	p := &patch{req: req, body: body, kind: types.PatchType(contentType)}
	if err := p.checkDepth(); err != nil {
		return nil, false, out, err
	}
	if p.opts, err = patchOptions(req, p.kind); err != nil {
		return nil, false, out, err
	}
	if p.fields, err = s.fieldManager(); err != nil {
		return nil, false, out, err
	}
	auditPatch(ctx, body, p.kind)
	p.strict = fieldValidation(p.opts.FieldValidation)
	p.update = toUpdateOptions(p.opts)
	p.manager = manager(p.opts.FieldManager, req.UserAgent())
	p.op = s.operation(ctx, s.admissionNamespace(namespace, name), name, p.opts.DryRun)
	result, created, err := p.store(ctx, r)
	return result, created, out, err
}

// store writes, again where it lost a race.
func (p *patch) store(ctx context.Context, r rest.Patcher) (result runtime.Object, created bool, err error) {
	apply := p.isApply()
	validateCreate := p.op.authorizedCreate(p.req, p.op.validateCreate(toCreateOptions(p.update)))
	validateUpdate := p.op.validateUpdate(p.update)
	for try := 0; ; try++ {
		result, created, err = r.Update(ctx, p.op.name, p, validateCreate, validateUpdate, apply, p.update)
		switch {
		case apierrors.IsConflict(err) && try < patchRetries && ctx.Err() == nil:
		case errors.Is(err, storage.ErrTooLarge) && !apply && !p.dropFields:
			p.dropFields = true
		default:
			return result, created, err
		}
	}
}

// checkDepth refuses a patch that is nested too deep. The body of an apply may be YAML, which decodeApply looks at.
func (p *patch) checkDepth() error {
	if p.isApply() {
		return nil
	}
	if err := wire.CheckDepth(p.body); err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return nil
}

func (p *patch) isApply() bool {
	return p.kind == types.ApplyYAMLPatchType || p.kind == types.ApplyCBORPatchType
}

// Preconditions implements rest.UpdatedObjectInfo.
func (p *patch) Preconditions() *metav1.Preconditions { return nil }

// UpdatedObject implements rest.UpdatedObjectInfo.
func (p *patch) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj, err := p.apply(ctx, old)
	if err != nil {
		return nil, err
	}
	if err := p.op.admitWrite(ctx, obj, old, p.update); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, afterAdmission)
	if p.dropFields {
		if m, err := meta.Accessor(obj); err == nil {
			m.SetManagedFields(nil)
		}
	}
	return obj, nil
}

// apply returns the patched object.
func (p *patch) apply(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	s := p.op.scope
	exists, err := hasUID(old)
	if err != nil {
		return nil, err
	}
	var obj runtime.Object
	switch {
	case p.isApply():
		obj, err = p.serverSideApply(old, exists)
	case !exists:
		return nil, apierrors.NewNotFound(s.resource(), p.op.name)
	case p.kind == types.StrategicMergePatchType:
		obj, err = p.strategicMerge(old)
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
	s := p.op.scope
	m, err := meta.Accessor(obj)
	if err != nil {
		return checkName(obj, p.op.name)
	}
	if !exists && m.GetUID() != "" {
		return apierrors.NewConflict(s.resource(), p.op.name,
			fmt.Errorf("uid mismatch: the provided object specified uid %s, and no existing object was found", m.GetUID()))
	}
	namespace := ""
	if s.Namespaced {
		namespace = p.op.namespace
	}
	if err := matchNamespace(m, namespace); err != nil {
		return err
	}
	return checkName(obj, p.op.name)
}

// owned records who changed what.
func (p *patch) owned(old, obj runtime.Object) runtime.Object {
	if p.fields == nil {
		return obj
	}
	return p.fields.Update(old, obj, p.manager)
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
	return readOptions(req, &metav1.PatchOptions{}, "PatchOptions", func(o *metav1.PatchOptions) field.ErrorList {
		return validation.ValidatePatchOptions(o, kind)
	})
}

// toUpdateOptions are the options of the update that a patch is for the storage.
func toUpdateOptions(opts *metav1.PatchOptions) *metav1.UpdateOptions {
	o := &metav1.UpdateOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("UpdateOptions"))
	return o
}
