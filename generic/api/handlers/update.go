package handlers

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/api/managedfields"
	"triplane/generic/api/negotiation"
	"triplane/generic/api/rest"
	"triplane/generic/guard/admission"
	"triplane/generic/storage"
	"triplane/generic/storage/wire"
)

// Update serves update.
func Update(scope *RequestScope, r rest.Updater) http.HandlerFunc {
	return scope.handler(func(w http.ResponseWriter, req *http.Request) error {
		obj, created, out, err := scope.doUpdate(req, r)
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

func (s *RequestScope) doUpdate(req *http.Request, r rest.Updater) (_ runtime.Object, created bool, out negotiation.Output, err error) {
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
	opts, err := updateOptions(req)
	if err != nil {
		return nil, false, out, err
	}
	mt, err := negotiation.NegotiateInput(req, s.rules())
	if err != nil {
		return nil, false, out, err
	}
	obj, sent, err := s.decode(req, body, mt, opts.FieldValidation)
	if err != nil {
		return nil, false, out, s.liveFirst(ctx, r, name, err)
	}
	s.auditRequest(ctx, obj)
	if m, err := meta.Accessor(obj); err == nil {
		if err := matchNamespace(m, namespace); err != nil {
			return nil, false, out, err
		}
	}
	if err := checkName(obj, name); err != nil {
		return nil, false, out, err
	}
	dedupOwners(ctx, obj, "")
	fm, err := s.fieldManager()
	if err != nil {
		return nil, false, out, err
	}
	op := s.operation(ctx, s.admissionNamespace(namespace, name), name, opts.DryRun)
	u := &update{op: op, obj: obj, sent: sent, opts: opts, fields: fm, manager: manager(opts.FieldManager, req.UserAgent())}
	validateCreate := op.authorizedCreate(req, op.validateCreate(toCreateOptions(opts)))
	write := func() (runtime.Object, error) {
		result, wasCreated, err := r.Update(ctx, name, u, validateCreate, op.validateUpdate(opts), false, opts)
		created = wasCreated
		return result, err
	}
	result, err := write()
	if errors.Is(err, storage.ErrTooLarge) && u.fields != nil {
		if m, metaErr := meta.Accessor(obj); metaErr == nil {
			m.SetManagedFields(nil)
			u.fields = nil
			result, err = write()
		}
	}
	return result, created, out, err
}

// liveFirst returns the error of an update whose body could not be converted: that of the object
// which it would replace comes first.
func (s *RequestScope) liveFirst(ctx context.Context, r rest.Updater, name string, err error) error {
	getter, ok := r.(rest.Getter)
	if c := (*rest.ConversionError)(nil); !ok || !errors.As(err, &c) {
		return err
	}
	live, liveErr := getter.Get(ctx, name, &metav1.GetOptions{})
	if liveErr != nil {
		return liveErr
	}
	if stored, ok := live.(rest.Stored); ok {
		if _, liveErr := stored.Wire(s.Kind.GroupVersion(), wire.JSON); liveErr != nil {
			return liveErr
		}
	}
	return err
}

// admissionNamespace is the namespace that admission sees: namespaces are in
// themselves.
func (s *RequestScope) admissionNamespace(namespace, name string) string {
	if s.isNamespaces() {
		return name
	}
	return namespace
}

// update is the rest.UpdatedObjectInfo of a PUT.
type update struct {
	op      *operation
	obj     runtime.Object
	sent    runtime.Object // before its conversion to the hub version
	opts    *metav1.UpdateOptions
	fields  *managedfields.Manager
	manager string
}

// Preconditions implements rest.UpdatedObjectInfo: an object that has a UID must
// replace just that one.
func (u *update) Preconditions() *metav1.Preconditions {
	m, err := meta.Accessor(u.obj)
	if err != nil || m.GetUID() == "" {
		return nil
	}
	uid := m.GetUID()
	return &metav1.Preconditions{UID: &uid}
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (u *update) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	obj := u.obj.DeepCopyObject()
	if u.fields != nil {
		sent := u.sent
		if sent == u.obj {
			sent = obj // nothing was converted, so that there is nothing more to copy
		}
		obj = record(u.fields, old, obj, sent, u.manager)
	}
	if err := u.op.admitWrite(ctx, obj, old, u.opts); err != nil {
		return nil, err
	}
	dedupOwners(ctx, obj, afterAdmission)
	return obj, nil
}

// admitWrite is mutating admission of an update that may turn out to create.
func (o *operation) admitWrite(ctx context.Context, obj, old runtime.Object, opts *metav1.UpdateOptions) error {
	exists, err := hasUID(old)
	if err != nil {
		return err
	}
	if !exists {
		return o.admit(ctx, admission.Create, obj, nil, toCreateOptions(opts))
	}
	return o.admit(ctx, admission.Update, obj, old, opts)
}

func updateOptions(req *http.Request) (*metav1.UpdateOptions, error) {
	return readOptions(req, &metav1.UpdateOptions{}, "UpdateOptions", validation.ValidateUpdateOptions)
}

// toCreateOptions are the options of the creation that an update can be.
func toCreateOptions(opts *metav1.UpdateOptions) *metav1.CreateOptions {
	o := &metav1.CreateOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation}
	o.SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("CreateOptions"))
	return o
}
