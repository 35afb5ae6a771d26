package apigroups

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/serve/server"
)

// Group is an API group, which is served at /apis/NAME.
type Group struct {
	// Name is a DNS name, for example "forest.example.com".
	Name string
	// Versions are the served versions, the preferred one first.
	Versions []string
	// Resources are the resources of all versions.
	Resources []Resource
	// PostStartHooks run when the server listens. It is ready after they have returned.
	PostStartHooks []server.PostStartHook
}

func (g *Group) serves(gv schema.GroupVersion) bool {
	return gv.Group == g.Name && slices.Contains(g.Versions, gv.Version)
}

// API has the groups of a server.
type API struct {
	// Scheme and Schemas have the Go types of all groups.
	Scheme  *runtime.Scheme
	Schemas *models.Source
	groups  []*groupBuilder
}

// groupBuilder builds the storage of a group.
type groupBuilder struct {
	group    *Group
	scheme   *runtime.Scheme
	samples  []any // of Go types, for OpenAPI
	versions []schema.GroupVersion

	*server.GroupBuilder // while the group is installed
}

// New registers the Go types of all groups.
func New(groups []Group) (*API, error) {
	a := &API{Schemas: &models.Source{}}
	var err error
	if a.Scheme, err = defaultScheme(); err != nil {
		return nil, err
	}
	if len(groups) == 0 {
		return nil, errors.New("a server needs Groups to serve")
	}
	for i := range groups {
		b := &groupBuilder{group: &groups[i], scheme: a.Scheme}
		if err := b.registerAll(); err != nil {
			return nil, fmt.Errorf("API group %q: %w", groups[i].Name, err)
		}
		if err := a.Schemas.Describe(b.samples...); err != nil {
			return nil, err
		}
		a.groups = append(a.groups, b)
	}
	return a, nil
}

func (b *groupBuilder) registerAll() error {
	g := b.group
	if g.Name == "" || len(g.Versions) == 0 || len(g.Resources) == 0 {
		return errors.New("a group needs Name, Versions and Resources")
	}
	for _, version := range g.Versions {
		gv := schema.GroupVersion{Group: g.Name, Version: version}
		metav1.AddToGroupVersion(b.scheme, gv)
		b.versions = append(b.versions, gv)
	}
	for _, r := range g.Resources {
		if r.register == nil {
			return errors.New("a Resource must be created with NewResource or NewStorage")
		}
		if err := r.register(b); err != nil {
			return fmt.Errorf("resource %q: %w", r.name, err)
		}
	}
	return b.scheme.SetVersionPriority(b.versions...)
}

// Install creates the resources of all groups and installs them in a server.
func (a *API) Install(name string, s *server.GenericAPIServer) error {
	converter := openapi.NewTypeConverter(a.Schemas, a.Scheme)
	for _, b := range a.groups {
		info := server.APIGroupInfo{PrioritizedVersions: b.versions, Scheme: a.Scheme, SchemeName: name,
			TypeConverter: always(converter), PostStartHooks: b.group.PostStartHooks}
		b.GroupBuilder = server.NewGroupBuilder(info, s.Config().RESTOptionsGetter)
		for _, r := range b.group.Resources {
			if err := r.build(b); err != nil {
				return fmt.Errorf("resource %q of API group %q: %w", r.name, b.group.Name, err)
			}
		}
		served := b.Info()
		for _, gv := range b.versions {
			if !slices.Contains(served.PrioritizedVersions, gv) {
				return fmt.Errorf("API group %q: version %q has no resources", b.group.Name, gv.Version)
			}
		}
		if err := s.InstallAPIGroups(served); err != nil {
			return err
		}
	}
	return nil
}

func always[T any](v T) func() (T, error) { return func() (T, error) { return v, nil } }
