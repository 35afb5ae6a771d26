package admissionregistration

import (
	"context"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
	"triplane/generic/serve/server"
	"triplane/kubeapi/defaults"
	"triplane/kubeapi/group"
)

var v1 = admissionv1.SchemeGroupVersion

const unset = "<unset>"

// Group builds admissionregistration.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, admissionv1.GroupName, "v1", "v1beta1", "v1alpha1")
	manifests := d.Gate("ManifestBasedAdmissionControlConfig")
	group.Add(b, reserving(validatingWebhookKind(), manifests))
	group.Add(b, reserving(mutatingWebhookKind(), manifests))
	p := &paramAccess{authorizer: d.Authorizer, served: d.Served, stores: d.Stores}
	group.Add(b, restricted(reserving(validatingPolicyKind(), manifests), p.validatingPolicy))
	group.Add(b, restricted(reserving(validatingBindingKind(), manifests), p.validatingBinding))
	group.Add(b, restricted(reserving(mutatingPolicyKind(), manifests), p.mutatingPolicy))
	group.Add(b, restricted(reserving(mutatingBindingKind(), manifests), p.mutatingBinding))
	return b.Info()
}

// configuration is what all kinds of the group have in common.
func configuration[T registry.Object](kind, plural string, validate func(context.Context, T) field.ErrorList) registry.Kind[T] {
	return registry.Kind[T]{
		Hub:            v1.WithKind(kind),
		Representation: kept(registry.Typed[T]{}),
		Names:          registry.Names{Plural: plural, Categories: []string{"api-extensions"}},
		Write: registry.Write[T]{
			CountsGeneration: true,
			Validate:         validate,
			ValidateUpdate:   func(ctx context.Context, o, _ T) field.ErrorList { return validate(ctx, o) },
		},
	}
}

// kept completes how a configuration is kept.
func kept[T registry.Object](t registry.Typed[T]) registry.Typed[T] {
	t.MetadataOnUpdate, t.MetadataOnStatus, t.AnyFinalizer = registry.MetadataCreate, registry.MetadataOnce, true
	return t
}

// inVersions are the versions of a kind that is stable since 1.36.
func inVersions[T registry.Object](kind string) registry.Typed[T] {
	return kept(registry.Typed[T]{Versions: registry.SameFields[T](kind, beta1, alpha1)})
}

func defaultRule(r *admissionv1.Rule) { defaults.Set(&r.Scope, admissionv1.AllScopes) }

func defaultSelectors(selectors ...**metav1.LabelSelector) {
	for _, s := range selectors {
		defaults.Set(s, metav1.LabelSelector{})
	}
}
