package handlers

import (
	"context"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/api/handlers/options"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
)

// Create serves create, of subresources too.
func Create(scope *RequestScope) http.HandlerFunc { return scope.mutate((*mutation).create) }

func (m *mutation) create() (runtime.Object, bool, error) {
	s := m.scope
	if err := m.begin(); err != nil {
		return nil, false, err
	}
	opts, err := options.Read(m.req, &metav1.CreateOptions{}, "CreateOptions", validation.ValidateCreateOptions)
	if err != nil {
		return nil, false, err
	}
	obj, sent, err := m.object(opts.FieldValidation)
	if err != nil {
		return nil, false, err
	}
	o, metaErr := meta.Accessor(obj)
	if s.Subresource == "" {
		m.name = ""
	}
	if metaErr == nil {
		if m.name == "" {
			m.name = o.GetName()
		}
		if !s.Storage.KeepsMetadata {
			wipeSystemFields(o)
		}
		if err := matchNamespace(o, m.namespace); err != nil {
			return nil, false, err
		}
	}
	if s.isNamespaces() {
		// Admission looks at a new namespace as being in itself.
		m.namespace = m.name
		m.ctx = request.WithNamespace(m.ctx, m.name)
	}
	if err := s.misnamed(obj); err != nil {
		return nil, false, err
	}
	dedupOwners(m.ctx, obj, "")
	if err := m.by(opts.FieldManager, opts.DryRun); err != nil {
		return nil, false, err
	}
	if m.fields != nil {
		w := fieldmanager.Write{Live: s.Codec.New(), Object: obj, Sent: sent, Manager: m.manager}
		obj = fieldmanager.Record(m.ctx, m.fields, w)
	}
	if err := m.admit(m.ctx, admission.Create, obj, nil, opts); err != nil {
		return nil, false, err
	}
	r := rest.CreateRequest{Name: m.name, Object: obj, Options: opts, Validate: m.validateNew(opts)}
	return m.store(func() (runtime.Object, bool, error) {
		m.finish(m.ctx, obj)
		result, err := s.Storage.Create(m.ctx, r)
		if status, ok := result.(*metav1.Status); ok && status.Code == 0 {
			status.Code = http.StatusCreated
		}
		return result, true, err
	})
}

// validateNew is rest.CreateRequest.Validate.
func (m *mutation) validateNew(opts *metav1.CreateOptions) rest.ValidateObjectFunc {
	if !m.scope.Admission.Handles(admission.Create) {
		return nothing
	}
	return func(ctx context.Context, obj runtime.Object) error {
		return m.scope.Admission.Validate(ctx, m.attributes(admission.Create, obj, nil, opts))
	}
}

// isNamespaces reports whether the resource is the core group's namespaces.
func (s *RequestScope) isNamespaces() bool {
	return s.Resource.Group == "" && s.Resource.Resource == "namespaces"
}
