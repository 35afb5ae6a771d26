package admissionregistration

import (
	"context"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/guard/admission/manifest"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/group"
)

// Group builds admissionregistration.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, admissionv1.GroupName, "v1", "v1beta1", "v1alpha1")
	r := rules{
		manifests: d.Gate("ManifestBasedAdmissionControlConfig"),
		noReviews: d.Gate("ExcludeAdmissionWebhookVirtualResources"),
		params:    &paramAccess{authorizer: d.Authorizer, served: d.Served, stores: d.Stores},
	}
	group.Add(b, validatingWebhookKind(r))
	group.Add(b, mutatingWebhookKind(r))
	group.Add(b, validatingPolicyKind(r))
	group.Add(b, validatingBindingKind(r))
	group.Add(b, mutatingPolicyKind(r))
	group.Add(b, mutatingBindingKind(r))
	return b.Info()
}

// rules are those for whoever writes through the API, beyond what a configuration has to satisfy anywhere.
type rules struct {
	// manifests refuses new objects with the names of manifests; without, their authors are warned.
	manifests bool
	// noReviews warns of rules of webhooks for reviews, which webhooks do not get.
	noReviews bool
	params    *paramAccess // nil allows all params to all users
}

const reservedName = "names ending with \"" + manifest.Suffix + "\" " +
	"are reserved for static manifest-based configurations and cannot be managed via the API"

// configuration is what all kinds of the group have in common. allowed, where set, returns errors about a valid
// object, whose old is nil at creation.
func configuration[T kind.Object](r rules, validate func(context.Context, T) field.ErrorList,
	allowed func(ctx context.Context, o, old T) field.ErrorList) kind.Kind[T] {
	var none T
	name := field.NewPath("metadata", "name")
	reserves := func(o T) bool { return strings.HasSuffix(o.GetName(), manifest.Suffix) }
	judge := func(ctx context.Context, o, old T) field.ErrorList {
		errs := validate(ctx, o)
		if any(old) == any(none) && r.manifests && reserves(o) {
			errs = append(errs, field.Invalid(name, o.GetName(), reservedName))
		}
		if len(errs) > 0 || r.params == nil || allowed == nil {
			return errs
		}
		return allowed(ctx, o, old)
	}
	return kind.Kind[T]{
		Representation: kept(kind.Typed[T]{}),
		Names:          kind.Names{Categories: []string{"api-extensions"}},
		Write: kind.Write[T]{
			CountsGeneration: true,
			Validate:         judge,
			Warnings: func(_ context.Context, o, old T) []string {
				if any(old) == any(none) && !r.manifests && reserves(o) {
					return []string{name.String() + ": " + reservedName}
				}
				return nil
			},
		},
	}
}

// kept completes how a configuration is kept.
func kept[T kind.Object](t kind.Typed[T]) kind.Typed[T] {
	t.MetadataOnStatus, t.AnyFinalizer = kind.MetadataOnce, true
	return t
}

// inVersions are the versions of a kind that is stable since 1.36.
func inVersions[T kind.Object]() kind.Typed[T] {
	return kept(kind.Typed[T]{Versions: kind.SameFields[T](beta1, alpha1)})
}

func defaultRule(r *admissionv1.Rule) { defaults.Set(&r.Scope, admissionv1.AllScopes) }

func defaultSelectors(selectors ...**metav1.LabelSelector) {
	for _, s := range selectors {
		defaults.Set(s, metav1.LabelSelector{})
	}
}
