package openapi

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi/models"
)

// Builder makes OpenAPI documents of go-restful routes. It is safe for
// concurrent use.
type Builder struct {
	source         *models.Source
	title, version string
	kinds          func() map[string][]schema.GroupVersionKind
}

// NewBuilder returns a builder for the built-in kinds, those of a scheme; version is what
// info.version says.
func NewBuilder(source *models.Source, scheme *runtime.Scheme, version string) *Builder {
	return &Builder{
		source: source, title: "Kubernetes", version: version,
		kinds: sync.OnceValue(func() map[string][]schema.GroupVersionKind { return kindsByModel(scheme, allVersions()) }),
	}
}

// NewBuilderFor returns a builder for the kinds of a scheme alone, those of an extension API
// server with a title and a version.
func NewBuilderFor(source *models.Source, scheme *runtime.Scheme, title, version string) *Builder {
	return &Builder{
		source: source, title: title, version: version,
		kinds: sync.OnceValue(func() map[string][]schema.GroupVersionKind {
			return kindsByModel(scheme, inOrder(scheme.PrioritizedVersionsAllGroups()))
		}),
	}
}

func everyVersion(schema.GroupVersion) bool { return true }

// write writes routes, and the models that they read and write. Models of kinds that every group version has
// (DeleteOptions) name those of which keep is true.
func (b *Builder) write(d *Draft, services []WebService, keep func(schema.GroupVersion) bool) error {
	m, err := b.source.Models()
	if err != nil {
		return err
	}
	d.About(b.title, b.version)
	d.secured = true
	for i := range services {
		if err := writeRoutes(d, &services[i]); err != nil {
			return err
		}
	}
	return d.Models(m, func(model string) []schema.GroupVersionKind {
		kinds := b.kinds()[model]
		if !shared(model) {
			return kinds
		}
		return slices.DeleteFunc(slices.Clone(kinds),
			func(gvk schema.GroupVersionKind) bool { return !keep(gvk.GroupVersion()) })
	}, slices.Collect(maps.Keys(d.refs))...)
}
