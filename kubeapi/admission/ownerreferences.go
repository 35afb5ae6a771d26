package admission

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
)

// ownerReferences authorizes changes of owner references: the user must be allowed to delete the object. To block
// the owner's deletion, the user must be allowed to update the owner's finalizers.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: after the plugins that mutate
// objects.
type ownerReferences struct {
	operations
	authz  authorizer.Authorizer
	groups *discovery.Groups
}

func newOwnerReferences(d *Dependencies) admission.Interface {
	return &ownerReferences{operations{admission.Create, admission.Update}, d.Authorizer, d.Groups}
}

// Validate implements admission.ValidatingInterface.
func (p *ownerReferences) Validate(ctx context.Context, a *admission.Attributes) error {
	if p.authz == nil || bindsPods(a) {
		return nil
	}
	now, before := ownersOf(a.Object), ownersOf(a.OldObject)
	if equality.Semantic.DeepEqual(now, before) {
		return nil
	}
	if a.Operation == admission.Update { // a user owns the objects that it creates
		if ok, reason, err := p.may(ctx, &authorizer.Attributes{
			User: a.User, Verb: "delete", Namespace: a.Namespace, Name: a.Name, ResourceRequest: true,
			APIGroup: a.Resource.Group, APIVersion: a.Resource.Version, Resource: a.Resource.Resource,
			Subresource: a.Subresource,
		}); !ok {
			return admission.Forbiddenf(a, "cannot set an ownerRef on a resource you can't delete: %v, %v", reason, err)
		}
	}
	return p.validateBlocking(ctx, a, now, before)
}

// bindsPods reports whether an operation binds a pod; a Binding does not change the pod's owner references.
func bindsPods(a *admission.Attributes) bool {
	return a.Resource.Group == "" && (a.Resource.Resource == "bindings" || a.Resource.Resource == "pods" &&
		a.Subresource == "binding")
}

func ownersOf(obj any) []metav1.OwnerReference {
	m, err := meta.Accessor(obj)
	if obj == nil || err != nil {
		return nil
	}
	return m.GetOwnerReferences()
}

func (p *ownerReferences) may(ctx context.Context, a *authorizer.Attributes) (ok bool, reason string, err error) {
	decision, reason, err := p.authz.Authorize(ctx, a)
	return decision == authorizer.Allow, reason, err
}

// validateBlocking authorizes every owner reference that becomes blocking.
func (p *ownerReferences) validateBlocking(
	ctx context.Context, a *admission.Attributes, now, before []metav1.OwnerReference,
) error {
	blocked := map[types.UID]bool{}
	for i := range before {
		blocked[before[i].UID] = blocks(&before[i])
	}
	newlyBlocking := slices.DeleteFunc(slices.Clone(now), func(r metav1.OwnerReference) bool {
		return !blocks(&r) || blocked[r.UID]
	})
	if len(newlyBlocking) == 0 {
		return nil
	}
	// A user who may update all finalizers may block the deletion of owners of unknown kinds, too.
	if ok, _, _ := p.may(ctx, &authorizer.Attributes{User: a.User, Verb: "update", Name: "*", ResourceRequest: true,
		APIGroup: "*", APIVersion: "*", Resource: "*", Subresource: "finalizers"}); ok {
		return nil
	}
	for i := range newlyBlocking {
		ref := &newlyBlocking[i]
		gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		r, ok := p.groups.ResourceOf(gvk)
		if !ok {
			return admission.Forbiddenf(a,
				"cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %v Kind "+
					"%v: %v",
				ref.APIVersion, ref.Kind, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(),
					SearchedVersions: []string{gvk.Version}})
		}
		attributes := &authorizer.Attributes{
			User: a.User, Verb: "update", Name: ref.Name, ResourceRequest: true,
			APIGroup: gvk.Group, APIVersion: gvk.Version, Resource: r.Name, Subresource: "finalizers",
		}
		if r.Namespaced {
			attributes.Namespace = a.Namespace
		}
		if ok, reason, err := p.may(ctx, attributes); !ok {
			return admission.Forbiddenf(a,
				"cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers "+
					"on: %v, %v", reason, err)
		}
	}
	return nil
}

func blocks(r *metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}
