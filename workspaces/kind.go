package workspaces

import (
	"context"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/serve/server"
)

// AddToScheme adds the Go types of the group to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	metav1.AddToGroupVersion(s, GroupVersion)
	s.AddKnownTypeWithName(GroupVersion.WithKind("Workspace"), &Workspace{})
	s.AddKnownTypeWithName(GroupVersion.WithKind("WorkspaceList"), &List{})
	return s.SetVersionPriority(GroupVersion)
}

// Install serves the group in a server of the root chain. It must be called before Run.
func (m *Manager) Install(s *server.GenericAPIServer, scheme *runtime.Scheme,
	types func() (managedfields.TypeConverter, error), url func(name string) string) (err error) {
	b := server.NewGroupBuilder(server.APIGroupInfo{PrioritizedVersions: []schema.GroupVersion{GroupVersion},
		Scheme: scheme, SchemeName: "workspaces", TypeConverter: types}, s.Config().RESTOptionsGetter)
	if m.store, err = server.AddKind(b, m.declaration(url), b.Versions()); err != nil {
		return err
	}
	return s.InstallAPIGroups(b.Info())
}

// declaration declares workspaces.triplane.dev/v1alpha1 Workspace. url returns the URL of a workspace for clients.
func (m *Manager) declaration(url func(name string) string) *kind.Kind[*Workspace] {
	return &kind.Kind[*Workspace]{
		Prefix: GroupVersion.Group + "/" + Plural,
		Names:  kind.Names{ShortNames: []string{"ws"}},
		Write: kind.Write[*Workspace]{
			ValidateName: apivalidation.NameIsDNSLabel,
			Prepare: kind.AtCreation(func(ctx context.Context, w *Workspace) {
				m.resolveTemplate(ctx, w)
				w.Status = Status{URL: url(w.Name)}
				if !slices.Contains(w.Finalizers, Contents) {
					w.Finalizers = append(w.Finalizers, Contents)
				}
				setReady(w)
			}),
			Validate:                 m.validate,
			Immutable:                []string{"spec.initial", "spec.template"},
			CountsGeneration:         true,
			AllowUnconditionalUpdate: kind.Always,
		},
		Columns: show.Columns(show.Text("Ready", ""), show.Text("Reason", ""), show.Text("URL", "")),
		Show: kind.Show[*Workspace]{Cells: func(w *Workspace, _ func(metav1.Time) string) []any {
			status, reason := Readiness(w)
			return []any{status, reason, w.Status.URL}
		}},
		Status: &kind.Subresource[*Workspace]{Metadata: kind.ClientMetadata},
	}
}

// setReady sets the condition Ready of a new workspace: the first request creates its servers. One with a template or
// initial objects is ready when they exist.
func setReady(w *Workspace) {
	c := metav1.Condition{Type: Ready, Status: metav1.ConditionTrue, Reason: served}
	if w.begins() {
		c.Status, c.Reason = metav1.ConditionFalse, initializing
	}
	meta.SetStatusCondition(&w.Status.Conditions, c)
}

// Readiness returns the status and the reason that tables show.
func Readiness(w *Workspace) (status, reason string) {
	switch c := meta.FindStatusCondition(w.Status.Conditions, Ready); {
	case w.DeletionTimestamp != nil:
		return string(metav1.ConditionFalse), "Terminating"
	case w.Spec.Suspended:
		return string(metav1.ConditionFalse), "Suspended"
	case c != nil:
		return string(c.Status), c.Reason
	}
	return string(metav1.ConditionUnknown), ""
}

func (m *Manager) validate(ctx context.Context, w, old *Workspace) field.ErrorList {
	if old == nil {
		return append(validate(w), m.validateTemplate(ctx, w)...)
	}
	return validate(w)
}

func validate(w *Workspace) field.ErrorList {
	_, errs := initialObjects(w)
	spec := field.NewPath("spec")
	for i, s := range w.Spec.Admins {
		at := spec.Child("admins").Index(i)
		if s.Kind != rbacv1.UserKind && s.Kind != rbacv1.GroupKind {
			errs = append(errs, field.NotSupported(at.Child("kind"), s.Kind, []string{rbacv1.UserKind, rbacv1.GroupKind}))
		}
		if s.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		}
		if s.APIGroup != "" && s.APIGroup != rbacv1.GroupName {
			errs = append(errs, field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{rbacv1.GroupName}))
		}
		if strings.HasPrefix(s.Name, "system:serviceaccount") {
			errs = append(errs, field.Invalid(at.Child("name"), s.Name,
				"service accounts of the server are not users of workspaces"))
		}
	}
	if q := w.Spec.Quota; q != nil && q.Objects != nil && *q.Objects < 0 {
		errs = append(errs, field.Invalid(spec.Child("quota", "objects"), *q.Objects, "must not be negative"))
	}
	if q := w.Spec.Quota; q != nil && q.Bytes != nil && q.Bytes.Sign() < 0 {
		errs = append(errs, field.Invalid(spec.Child("quota", "bytes"), q.Bytes.String(), "must not be negative"))
	}
	return errs
}
