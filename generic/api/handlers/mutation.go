package handlers

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// mutation is a create, update or patch under way.
type mutation struct {
	operation
	ctx context.Context
	req *http.Request
	out negotiation.Output
	// body is the request's, and input its media type, which of a patch is not set.
	body  []byte
	input wire.MediaType
	// options are those of the update, which a patch is for the storage.
	options *metav1.UpdateOptions
	// fields and manager record who changed what; nil fields leave managed fields alone.
	fields  *managedfields.Manager
	manager string
	// dropFields leaves managed fields out, since the object is too large with them. An apply, which
	// is about them, needs them.
	dropFields, needFields bool
	// asked is true once the authorizer was asked for "create", and refusal its answer.
	asked   bool
	refusal error
}

// mutate serves a verb that writes an object. run returns what was written, and whether it is new.
func (s *RequestScope) mutate(run func(m *mutation) (obj runtime.Object, created bool, err error)) http.HandlerFunc {
	return s.handler(func(w http.ResponseWriter, req *http.Request) error {
		m := &mutation{operation: operation{scope: s}, req: req}
		obj, created, err := run(m)
		if err != nil {
			return err
		}
		code := http.StatusOK
		if created {
			code = http.StatusCreated
		}
		a := responsewriters.Response{Scope: &s.Scope, Writer: w, Request: req, Output: m.out}
		return a.Write(code, obj)
	})
}

// begin reads the path, what the client accepts, and the body. The media type of a creation is
// validated before its body is read.
func (m *mutation) begin() (err error) {
	s := m.scope
	if m.ctx, m.namespace, m.name, err = s.target(m.req); err != nil {
		return err
	}
	if m.out, err = negotiation.Negotiate(m.req, s.Rules()); err != nil {
		return err
	}
	if m.req.Method == http.MethodPost {
		if err := m.negotiateInput(); err != nil {
			return err
		}
	}
	m.body, err = s.readBody(m.req)
	return err
}

func (m *mutation) negotiateInput() (err error) {
	m.input, err = negotiation.NegotiateInput(m.req, m.scope.Rules())
	return err
}

// object decodes the body. sent is the object as it was before its conversion to the hub version.
func (m *mutation) object(fieldValidation string) (obj, sent runtime.Object, err error) {
	if obj, sent, err = m.scope.decode(m.req, m.body, m.input, fieldValidation); err == nil {
		m.scope.auditRequest(m.ctx, obj)
	}
	return obj, sent, err
}

// by sets who writes, and whether it is a dry run.
func (m *mutation) by(fieldManager string, dryRun []string) (err error) {
	m.user, m.dryRun = request.UserFrom(m.ctx), len(dryRun) > 0
	m.manager = fieldmanager.ManagerName(fieldManager, m.req.UserAgent())
	m.fields, err = m.scope.fieldManager()
	return err
}

// store writes, and once more without managed fields if the object is too large with them. Conflicts are final: the
// Store itself retries writes that another one has outrun.
func (m *mutation) store(write func() (runtime.Object, bool, error)) (runtime.Object, bool, error) {
	for {
		obj, created, err := write()
		switch {
		case err == nil:
			return obj, created, nil
		case errors.Is(err, storage.ErrTooLarge) && m.fields != nil && !m.needFields && !m.dropFields:
			m.dropFields = true
		default:
			return obj, created, err
		}
	}
}

// update writes what change makes of the present object.
func (m *mutation) update(r rest.UpdateRequest) (runtime.Object, bool, error) {
	m.namespace = m.scope.admissionNamespace(m.namespace, m.name)
	r.Name, r.Options, r.ValidateCreate, r.ValidateUpdate = m.name, m.options, m.validateCreation, m.validateChange
	return m.store(func() (runtime.Object, bool, error) { return m.scope.Storage.Update(m.ctx, r) })
}

// admitted is mutating admission of an update, which may turn out to create, and what follows from
// it.
func (m *mutation) admitted(ctx context.Context, obj, old runtime.Object) error {
	exists, err := hasUID(old)
	if err != nil {
		return err
	}
	if exists {
		err = m.admit(ctx, admission.Update, obj, old, m.options)
	} else {
		err = m.admit(ctx, admission.Create, obj, nil, toCreateOptions(m.options))
	}
	if err != nil {
		return err
	}
	m.finish(ctx, obj)
	return nil
}

// finish is what becomes of an object after admission.
func (m *mutation) finish(ctx context.Context, obj runtime.Object) {
	dedupOwners(ctx, obj, afterAdmission)
	if o, err := meta.Accessor(obj); m.dropFields && err == nil {
		o.SetManagedFields(nil)
	}
}

// validateCreation is rest.UpdateRequest.ValidateCreate: it asks, once, whether the user may create
// before an update or apply does so.
func (m *mutation) validateCreation(ctx context.Context, obj runtime.Object) error {
	if !m.asked && m.scope.Authorizer != nil {
		m.asked, m.refusal = true, m.authorize(ctx, m.req, "create")
	}
	if m.refusal != nil || !m.scope.Admission.Handles(admission.Create) {
		return m.refusal
	}
	return m.scope.Admission.Validate(ctx, m.attributes(admission.Create, obj, nil, toCreateOptions(m.options)))
}

// validateChange is rest.UpdateRequest.ValidateUpdate.
func (m *mutation) validateChange(ctx context.Context, obj, old runtime.Object) error {
	if !m.scope.Admission.Handles(admission.Update) {
		return nil
	}
	return m.scope.Admission.Validate(ctx, m.attributes(admission.Update, obj, old, m.options))
}

// toCreateOptions are the options of the creation that an update can be.
func toCreateOptions(opts *metav1.UpdateOptions) *metav1.CreateOptions {
	o := &metav1.CreateOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return o
}
