package customresource

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	structural "triplane.dev/apiextensions/schema"
	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

type object = *unstructured.Unstructured

// NewStore makes the store of a definition's objects. terminating reports whether the definition is
// being deleted.
func (d *Definition) NewStore(opts registry.RESTOptions, terminating func() bool) (*registry.Store[object], error) {
	return registry.NewStore(d.kind(terminating), runtime.NewScheme(), opts)
}

// kind declares the custom resource, whose hub is the storage version.
func (d *Definition) kind(terminating func() bool) *kind.Kind[object] {
	names, hub := d.crd.Status.AcceptedNames, d.storage.gvk
	k := &kind.Kind[object]{
		Hub:        hub,
		Namespaced: d.crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Prefix:     hub.Group + "/" + names.Plural,
		New: func() object {
			u := &unstructured.Unstructured{Object: map[string]any{}}
			u.SetGroupVersionKind(hub)
			return u
		},
		NewList: func() runtime.Object {
			l := &unstructured.UnstructuredList{Object: map[string]any{}}
			l.SetGroupVersionKind(hub.GroupVersion().WithKind(names.ListKind))
			return l
		},
		Representation: d.representation(),
		Names: kind.Names{
			Plural: names.Plural, Singular: names.Singular, ShortNames: names.ShortNames, Categories: names.Categories,
		},
		Write: kind.Write[object]{
			Prepare:  d.prepareWrite,
			Validate: d.validate,
			Begin: func(_ context.Context, obj, old object, _ bool) (func(context.Context, bool), error) {
				if old == nil && terminating() {
					return nil, apierrors.NewForbidden(schema.GroupResource{Group: hub.Group, Resource: names.Plural}, obj.GetName(),
						errors.New("create not allowed while custom resource definition is terminating"))
				}
				return nil, nil
			},
			Warnings:    finalizerWarnings,
			ResetFields: d.resetFields(false),
		},
		Select: kind.Select[object]{Fields: d.selectableFields()},
	}
	if d.anyVersion(func(v *Version) bool { return v.hasStatus() }) {
		k.Status = &kind.Subresource[object]{
			Prepare:     prepareForStatusUpdate,
			Validate:    d.validateStatus,
			ResetFields: d.resetFields(true),
		}
	}
	return k
}

// representation is the encoding of objects in storage and on the wire, in all versions.
func (d *Definition) representation() *kind.Unstructured {
	r := &kind.Unstructured{Storage: newStorage(d), Codec: d.codecFor, Prepare: d.prepare}
	for _, v := range d.versions {
		if v != d.storage {
			r.Versions = append(r.Versions, v.gvk.GroupVersion())
		}
	}
	return r
}

func (d *Definition) codecFor(gv schema.GroupVersion) (rest.Codec, error) {
	v := d.versions[gv.Version]
	if v == nil || gv.Group != v.gvk.Group {
		return nil, fmt.Errorf("%s has no version %s", d.crd.Name, gv)
	}
	return v.codec, nil
}

func (d *Definition) anyVersion(is func(*Version) bool) bool {
	for _, v := range d.versions {
		if is(v) {
			return true
		}
	}
	return false
}

func (v *Version) hasStatus() bool {
	return v.spec.Subresources != nil && v.spec.Subresources.Status != nil
}

func (v *Version) scale() *apiextensionsv1.CustomResourceSubresourceScale {
	if v.spec.Subresources == nil {
		return nil
	}
	return v.spec.Subresources.Scale
}

// requested is the version that the request speaks; that of storage for calls
// from within the server.
func (d *Definition) requested(ctx context.Context) *Version {
	if info := request.InfoFrom(ctx); info != nil && info.APIGroup == d.storage.gvk.Group {
		if v := d.versions[info.APIVersion]; v != nil {
			return v
		}
	}
	return d.storage
}

// validate validates an object in the version that the request speaks.
func (d *Definition) validate(ctx context.Context, obj, old object) field.ErrorList {
	if errs := d.validateKind(ctx, obj); len(errs) > 0 {
		return errs
	}
	return d.inRequested(ctx, obj, old, (*Version).validateScale, func(c *compiled, content map[string]any,
		before func() any) (field.ErrorList, bool) {
		var errs field.ErrorList
		if c.validator != nil {
			errs = c.validator.ValidateUpdate(ctx, nil, c.schema, content, func() any { return withoutKind(before()) })
		}
		return append(errs, structural.ValidateMetadata(nil, content, c.schema)...), true
	})
}

// withoutKind returns what an object is compared with to find what has not changed (KEP-4008).
// An object as a whole, its kind and its apiVersion are validated at each update.
func withoutKind(old any) any {
	content, ok := old.(map[string]any)
	if !ok {
		return old
	}
	content = maps.Clone(content)
	delete(content, "kind")
	delete(content, "apiVersion")
	return content
}

// validateKind requires that an object of the hub is of the kind, in the storage
// version, unless a patch moved it to another one.
func (d *Definition) validateKind(ctx context.Context, obj object) field.ErrorList {
	var errs field.ErrorList
	hub := d.storage.gvk
	if obj.GetKind() != hub.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), obj.GetKind(), "must be "+hub.Kind))
	}
	if obj.GetAPIVersion() != hub.GroupVersion().String() {
		must := d.requested(ctx).gvk.GroupVersion().String()
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), obj.GetAPIVersion(), "must be "+must))
	}
	return errs
}

// validateStatus validates an update of the status by the status' own schema. Embedded
// resources may have any metadata there, as in kube-apiserver.
func (d *Definition) validateStatus(ctx context.Context, obj, old object) field.ErrorList {
	return d.inRequested(ctx, obj, old, (*Version).validateScaleStatus, func(c *compiled, content map[string]any,
		before func() any) (field.ErrorList, bool) {
		status, found := content["status"]
		if !found || c.status == nil {
			return nil, found
		}
		previous := func() any {
			whole, _ := before().(map[string]any)
			return whole["status"]
		}
		if status == nil && previous() == nil {
			return nil, true // null where none was has not changed (KEP-4008)
		}
		return c.status.ValidateUpdate(ctx, field.NewPath("status"), c.schema.Properties["status"], status, previous), true
	})
}

// inRequested validates an object in the version that the request speaks: by
// bySchema first, which reports whether there is more to validate, as the fields behind the
// scale are. What the object replaces, nil for a new one, is converted when it is first asked for.
func (d *Definition) inRequested(ctx context.Context, obj, old object,
	scale func(v *Version, content map[string]any) field.ErrorList,
	bySchema func(c *compiled, content map[string]any,
		before func() any) (errs field.ErrorList, more bool)) field.ErrorList {
	v := d.requested(ctx)
	c, err := v.compiled()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	content, err := v.content(obj)
	if err != nil {
		return field.ErrorList{rest.Unvalidated(err)}
	}
	var failed error
	before := sync.OnceValue(func() any {
		if old == nil {
			return nil
		}
		if v == d.storage {
			return old.Object
		}
		shown, err := v.show(old)
		if err != nil {
			failed = err
			return nil
		}
		return shown[0].Object
	})
	errs, more := bySchema(c, content, before)
	if more {
		errs = append(errs, scale(v, content)...)
		errs = v.rest(ctx, c, content, before, errs)
	}
	if failed != nil {
		errs = append(errs, rest.Unvalidated(failed))
	}
	return errs
}

// rest validates what OpenAPI schemas do not say.
func (v *Version) rest(ctx context.Context, c *compiled, content map[string]any, before func() any,
	errs field.ErrorList) field.ErrorList {
	errs = append(errs, structural.ValidateListsUpdate(nil, c.schema, content, before)...)
	if c.rules == nil {
		return errs
	}
	if blocks(errs) {
		return append(errs, field.Invalid(nil, nil,
			"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"))
	}
	return append(errs, c.rules.Validate(ctx, nil, content, before())...)
}

// content is an object of the hub as the version has it, before pruning.
func (v *Version) content(obj object) (map[string]any, error) {
	if v == v.definition.storage {
		return obj.Object, nil
	}
	out, err := v.codec.convert(obj, v)
	if err != nil {
		return nil, err
	}
	return out.(object).Object, nil
}

// blocks reports errors that leave rules without a value to look at.
func blocks(errs field.ErrorList) bool {
	for _, e := range errs {
		switch e.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
			field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

// resetFields are what an update of the resource, or of its status, leaves out of
// managed fields. Other fields than the spec, which an update of the status leaves
// alone too, are recorded as kube-apiserver records them.
func (d *Definition) resetFields(ofStatus bool) rest.ResetFields {
	set := fieldpath.NewSet(fieldpath.MakePathOrDie("status"))
	if ofStatus {
		set = fieldpath.NewSet(fieldpath.MakePathOrDie("metadata"), fieldpath.MakePathOrDie("spec"))
	}
	reset := rest.ResetFields{}
	for _, v := range d.versions {
		reset[v.gvk.GroupVersion()] = fieldpath.NewSet() // a version without a status subresource writes all
		if v.hasStatus() {
			reset[v.gvk.GroupVersion()] = set
		}
	}
	return reset
}
