package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/storage/object"
)

// operation is one write as admission sees it.
type operation struct {
	scope     *RequestScope
	namespace string
	name      string
	user      *user.Info
	dryRun    bool
}

func (s *RequestScope) operation(ctx context.Context, namespace, name string, dryRun []string) *operation {
	return &operation{scope: s, namespace: namespace, name: name, user: request.UserFrom(ctx), dryRun: len(dryRun) > 0}
}

func (o *operation) attributes(op admission.Operation, obj, old, opts runtime.Object) *admission.Attributes {
	name := o.name
	if m, err := meta.Accessor(obj); name == "" && obj != nil && err == nil {
		name = m.GetName()
	}
	return &admission.Attributes{
		Operation: op, Kind: o.scope.Kind, Resource: o.scope.Resource, Subresource: o.scope.Subresource,
		Namespace: o.namespace, Name: name, Object: obj, OldObject: old, Options: opts, DryRun: o.dryRun, User: o.user,
		Codec: o.scope.Codec, Versions: o.scope.Versions, Types: o.scope.Types,
	}
}

// invalidManagedFields is the warning for clients whose webhooks break managed fields.
const invalidManagedFields = ".metadata.managedFields was in an invalid state after admission; " +
	"this could be caused by an outdated mutating admission controller; please fix your requests: %v"

// admit runs mutating admission. Managed fields that it made invalid are put
// back.
func (o *operation) admit(ctx context.Context, op admission.Operation, obj, old, opts runtime.Object) error {
	if !o.scope.Admission.Handles(op) {
		return nil
	}
	a := o.attributes(op, obj, old, opts)
	m, err := meta.Accessor(obj)
	if err != nil {
		return o.scope.Admission.Admit(ctx, a)
	}
	view := object.ViewOf(obj)
	before := view.Managed(m)
	if err := o.scope.Admission.Admit(ctx, a); err != nil {
		return err
	}
	fm, err := o.scope.fieldManager()
	if err != nil {
		return err
	}
	// What the field manager has written is valid, and plugins replace it as a
	// whole if at all.
	if fm == nil || !view.Managed(m).Same(before) {
		checkFields(ctx, m, func() { view.SetManaged(m, before) })
	}
	return nil
}

// checkFields puts managed fields back that admission made invalid.
func checkFields(ctx context.Context, m metav1.Object, restore func()) {
	if err := managedfields.ValidateManagedFields(m.GetManagedFields()); err != nil {
		restore()
		request.AddWarning(ctx, fmt.Sprintf(invalidManagedFields, err))
	}
}

// validateDelete is all of admission: a deletion has nothing to mutate but what
// plugins do on the side.
func (o *operation) validateDelete(opts runtime.Object) rest.ValidateObjectFunc {
	if !o.scope.Admission.Handles(admission.Delete) {
		return nothing
	}
	return func(ctx context.Context, old runtime.Object) error {
		a := o.attributes(admission.Delete, nil, old, opts)
		if err := o.scope.Admission.Admit(ctx, a); err != nil {
			return err
		}
		return o.scope.Admission.Validate(ctx, a)
	}
}

func nothing(context.Context, runtime.Object) error { return nil }

// authorize asks whether the user may do something else than the request's verb with the
// request's object.
func (o *operation) authorize(ctx context.Context, r *http.Request, verb string) error {
	s := o.scope
	attrs := &authorizer.Attributes{
		User: o.user, Verb: verb, Namespace: o.namespace,
		APIGroup: s.Resource.Group, APIVersion: s.Resource.Version, Resource: s.Resource.Resource, Subresource: s.Subresource,
		Name: o.name, ResourceRequest: true, Path: r.URL.Path,
	}
	decision, reason, err := s.Authorizer.Authorize(ctx, attrs)
	switch {
	case decision == authorizer.Allow:
		return nil
	case err != nil:
		return apierrors.NewInternalError(err)
	}
	return forbidden(attrs, reason)
}

// forbidden is the 403 status in the words of the authorization filter.
func forbidden(a *authorizer.Attributes, reason string) error {
	var username string
	if a.User != nil {
		username = a.User.Name
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	where := "at the cluster scope"
	if a.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", a.Namespace)
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", username, a.Verb, resource, a.APIGroup, where)
	if reason != "" {
		text += ": " + reason
	}
	s := apierrors.NewForbidden(resourceOf(a), a.Name, fmt.Errorf("%s", text))
	return s
}

const (
	duplicateOwners = ".metadata.ownerReferences contains duplicate entries%s; API server dedups owner references in 1.20+, " +
		"and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
	afterAdmission = " after mutating admission happens"
)

// dedupOwners drops owner references that are there twice, and warns.
func dedupOwners(ctx context.Context, obj runtime.Object, when string) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	refs := m.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	seen := make(map[owner]bool, len(refs))
	var kept []metav1.OwnerReference
	var duplicates []string
	warned := map[types.UID]bool{}
	for i := range refs {
		switch o := ownerOf(&refs[i]); {
		case !seen[o]:
			seen[o] = true
			kept = append(kept, refs[i])
		case !warned[o.uid]:
			warned[o.uid] = true
			duplicates = append(duplicates, string(o.uid))
		}
	}
	if len(duplicates) == 0 {
		return
	}
	m.SetOwnerReferences(kept)
	request.AddWarning(ctx, fmt.Sprintf(duplicateOwners, when, strings.Join(duplicates, ", ")))
}

// owner is an owner reference that can be compared.
type owner struct {
	uid                    types.UID
	apiVersion, kind, name string
	controller, blocks     flag
}

func ownerOf(r *metav1.OwnerReference) owner {
	return owner{
		uid: r.UID, apiVersion: r.APIVersion, kind: r.Kind, name: r.Name,
		controller: flagOf(r.Controller), blocks: flagOf(r.BlockOwnerDeletion),
	}
}

// flag is a bool that may be unset.
type flag struct{ set, value bool }

func flagOf(b *bool) flag { return flag{b != nil, ptr.Deref(b, false)} }
