package openapi

import (
	"sync"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/common/restfuladapter"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/generic/openapi/models"
)

// Builder makes OpenAPI documents of go-restful routes. It is safe for
// concurrent use.
type Builder struct {
	source *models.Source
	about  spec.InfoProps
	// all has /openapi/v2 list models that no route has, too.
	all   bool
	kinds func() map[string][]schema.GroupVersionKind
}

// NewBuilder returns a builder for the built-in kinds, those of a scheme; version is what
// info.version says.
func NewBuilder(source *models.Source, scheme *runtime.Scheme, version string) *Builder {
	return &Builder{
		source: source, about: spec.InfoProps{Title: "Kubernetes", Version: version}, all: true,
		kinds: sync.OnceValue(func() map[string][]schema.GroupVersionKind { return kindsByModel(scheme, allVersions()) }),
	}
}

// NewBuilderFor returns a builder for the kinds of a scheme alone, those of an extension API
// server with a title and a version.
func NewBuilderFor(source *models.Source, scheme *runtime.Scheme, title, version string) *Builder {
	return &Builder{
		source: source, about: spec.InfoProps{Title: title, Version: version},
		kinds: sync.OnceValue(func() map[string][]schema.GroupVersionKind {
			return kindsByModel(scheme, inOrder(scheme.PrioritizedVersionsAllGroups()))
		}),
	}
}

// V3 builds the OpenAPI v3 document of the routes of one group version.
func (b *Builder) V3(services []*restful.WebService, gv schema.GroupVersion) (*spec3.OpenAPI, error) {
	m, err := b.source.Models()
	if err != nil {
		return nil, err
	}
	config := &common.OpenAPIV3Config{
		Info:            b.info(),
		DefaultResponse: &spec3.Response{ResponseProps: spec3.ResponseProps{Description: "Default Response."}},
		CommonResponses: map[int]*spec3.Response{401: {ResponseProps: spec3.ResponseProps{Description: "Unauthorized"}}},
		GetDefinitions:  definitions(m, m.Closure(sampleModels(services)...)),
		GetDefinitionName: definitionNamer(b.kinds(), func(of schema.GroupVersion) bool {
			return of == gv || of == schema.GroupVersion{Version: "v1"}
		}),
		GetOperationIDAndTagsFromRoute: operation,
		SecuritySchemes: spec3.SecuritySchemes{"BearerToken": {
			SecuritySchemeProps: spec3.SecuritySchemeProps{
				Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication",
			},
		}},
	}
	return builder3.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), config)
}

// V2 builds the OpenAPI v2 (Swagger) document of routes.
func (b *Builder) V2(services []*restful.WebService) (*spec.Swagger, error) {
	m, err := b.source.Models()
	if err != nil {
		return nil, err
	}
	names := m.All()
	if !b.all {
		names = m.Closure(sampleModels(services)...)
	}
	config := &common.Config{
		ProtocolList:                   []string{"https"},
		Info:                           b.info(),
		DefaultResponse:                &spec.Response{ResponseProps: spec.ResponseProps{Description: "Default Response."}},
		CommonResponses:                map[int]spec.Response{401: {ResponseProps: spec.ResponseProps{Description: "Unauthorized"}}},
		GetDefinitions:                 definitions(m, names),
		GetDefinitionName:              definitionNamer(b.kinds(), func(schema.GroupVersion) bool { return true }),
		GetOperationIDAndTagsFromRoute: operation,
		SecurityDefinitions: &spec.SecurityDefinitions{"BearerToken": {SecuritySchemeProps: spec.SecuritySchemeProps{
			Type: "apiKey", Name: "authorization", In: "header", Description: "Bearer Token authentication",
		}}},
		DefaultSecurity: []map[string][]string{{"BearerToken": {}}},
	}
	return builder.BuildOpenAPISpecFromRoutes(restfuladapter.AdaptWebServices(services), config)
}

func (b *Builder) info() *spec.Info { return &spec.Info{InfoProps: b.about} }

// sampleModels are the names of the models that routes read and write.
func sampleModels(services []*restful.WebService) []string {
	var names []string
	add := func(sample any) {
		if sample != nil {
			names = append(names, util.GetCanonicalTypeName(sample))
		}
	}
	for _, ws := range services {
		for _, r := range ws.Routes() {
			add(r.ReadSample)
			add(r.WriteSample)
			for _, e := range r.ResponseErrors {
				add(e.Model)
			}
		}
	}
	return names
}

// definitions hands models to kube-openapi's builders.
func definitions(m *models.Models, names map[string]bool) common.GetOpenAPIDefinitions {
	return func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		d, err := m.Definitions(names, ref)
		if err != nil {
			panic(err) // the models are part of the binary
		}
		return d
	}
}
