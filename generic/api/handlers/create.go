package handlers

import (
	"context"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/negotiation"
	"triplane/generic/api/rest"
	"triplane/generic/base/request"
	"triplane/generic/guard/admission"
	"triplane/generic/storage"
)

type createFunc func(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, opts *metav1.CreateOptions) (runtime.Object, error)

// Create serves create.
func Create(scope *RequestScope, r rest.Creater) http.HandlerFunc {
	return scope.create(func(ctx context.Context, _ string, obj runtime.Object, validate rest.ValidateObjectFunc, opts *metav1.CreateOptions) (runtime.Object, error) {
		return r.Create(ctx, obj, validate, opts)
	}, false, nil)
}

// CreateNamed serves create on a subresource of a named object.
func CreateNamed(scope *RequestScope, r rest.NamedCreater) http.HandlerFunc {
	preserve, _ := r.(rest.ObjectMetaPreserver)
	return scope.create(r.CreateNamed, true, preserve)
}

func (s *RequestScope) create(create createFunc, named bool, preserve rest.ObjectMetaPreserver) http.HandlerFunc {
	return s.handler(func(w http.ResponseWriter, req *http.Request) error {
		obj, out, err := s.doCreate(req, create, named, preserve)
		if err != nil {
			return err
		}
		if status, ok := obj.(*metav1.Status); ok && status.Code == 0 {
			status.Code = http.StatusCreated
		}
		a := answer{scope: s, w: w, r: req, out: out}
		return a.respond(http.StatusCreated, obj)
	})
}

func (s *RequestScope) doCreate(req *http.Request, create createFunc, named bool, preserve rest.ObjectMetaPreserver) (runtime.Object, negotiation.Output, error) {
	var none negotiation.Output
	ctx, namespace, name, err := s.target(req)
	if err != nil {
		return nil, none, err
	}
	if !named {
		name = ""
	}
	out, err := negotiation.Negotiate(req, s.rules())
	if err != nil {
		return nil, none, err
	}
	mt, err := negotiation.NegotiateInput(req, s.rules())
	if err != nil {
		return nil, none, err
	}
	body, err := s.readBody(req)
	if err != nil {
		return nil, none, err
	}
	opts, err := createOptions(req)
	if err != nil {
		return nil, none, err
	}
	obj, sent, err := s.decode(req, body, mt, opts.FieldValidation)
	if err != nil {
		return nil, none, err
	}
	s.auditRequest(ctx, obj)
	m, metaErr := meta.Accessor(obj)
	if metaErr == nil && name == "" {
		name = m.GetName()
	}
	if namespace == "" && s.isNamespaces() {
		// Admission looks at a new namespace as being in itself.
		namespace = name
		ctx = request.WithNamespace(ctx, namespace)
	}
	if metaErr == nil {
		if preserve == nil || !preserve.PreserveObjectMeta() {
			wipeSystemFields(m)
		}
		own := namespace
		if !s.Namespaced {
			own = ""
		}
		if err := matchNamespace(m, own); err != nil {
			return nil, none, err
		}
	}
	if err := s.misnamed(obj); err != nil {
		return nil, none, err
	}
	op := s.operation(ctx, namespace, name, opts.DryRun)
	obj, err = s.runCreate(ctx, req, op, obj, sent, opts, func(obj runtime.Object) (runtime.Object, error) {
		return create(ctx, name, obj, op.validateCreate(opts), opts)
	})
	return obj, out, err
}

// runCreate does what happens to a new object, which came as sent, before it is stored.
func (s *RequestScope) runCreate(ctx context.Context, req *http.Request, op *operation, obj, sent runtime.Object, opts *metav1.CreateOptions,
	write func(runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	dedupOwners(ctx, obj, "")
	fm, err := s.fieldManager()
	if err != nil {
		return nil, err
	}
	if fm != nil {
		obj = record(fm, s.Codec.New(), obj, sent, manager(opts.FieldManager, req.UserAgent()))
	}
	if err := op.admit(ctx, admission.Create, obj, nil, opts); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, afterAdmission)
	result, err := write(obj)
	if errors.Is(err, storage.ErrTooLarge) {
		// Managed fields can be what is too large, and can be done without.
		if m, metaErr := meta.Accessor(obj); metaErr == nil && len(m.GetManagedFields()) > 0 {
			m.SetManagedFields(nil)
			result, err = write(obj)
		}
	}
	return result, err
}

// isNamespaces reports whether the resource is the core group's namespaces.
func (s *RequestScope) isNamespaces() bool {
	return s.Resource.Group == "" && s.Resource.Resource == "namespaces"
}

func createOptions(req *http.Request) (*metav1.CreateOptions, error) {
	return readOptions(req, &metav1.CreateOptions{}, "CreateOptions", validation.ValidateCreateOptions)
}

// invalidOptions is the 422 status about a request's options.
func invalidOptions(kind string, errs field.ErrorList) error {
	return apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind(kind).GroupKind(), "", errs)
}
