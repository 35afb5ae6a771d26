package openapi

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
)

// large is a CRD whose schema has 47 KB, as those of providers have.
type large struct {
	crd    *apiextensionsv1.CustomResourceDefinition
	schema []byte
}

func (l large) Outline() *apiextensionsv1.CustomResourceDefinition { return l.crd }

func (l large) Schemas() (map[string][]byte, error) { return map[string][]byte{"v1": l.schema}, nil }

func newLarge() large {
	text := strings.Repeat("It is set by whoever creates the resource and cannot be changed afterwards. ", 2)
	var parts []string
	for i := range 20 {
		part := fmt.Sprintf(`{"type":"string","description":%q,"maxLength":63,"pattern":"^[a-z]*$"}`, text)
		for range 4 {
			part = fmt.Sprintf(`{"type":"object","description":%q,"required":["name"],"properties":{"name":%s,"other":{"type":"array","description":%[1]q,"items":{"type":"string"}}}}`, text, part)
		}
		parts = append(parts, fmt.Sprintf(`"part%d":%s`, i, part))
	}
	names := apiextensionsv1.CustomResourceDefinitionNames{Plural: "larges", Singular: "large", Kind: "Large", ListKind: "LargeList"}
	crd := &apiextensionsv1.CustomResourceDefinition{
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: "example.com", Names: names, Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{AcceptedNames: names},
	}
	return large{crd, []byte(`{"type":"object","properties":{"spec":{"type":"object","properties":{` + strings.Join(parts, ",") + `}}}}`)}
}

// serviceOf serves the documents of CRDs of example.com/v1, and no others. changed has them made anew.
func serviceOf(crds ...Definition) (s *openapi.Service, changed func()) {
	m := &models.Source{}
	s = openapi.NewService(openapi.NewBuilder(m, runtime.NewScheme(), "1"))
	source := NewSource(m, schema.GroupVersion{Group: "example.com", Version: "v1"}, func() []Definition { return crds })
	changed = func() { s.Set("apis/example.com/v1", source) }
	changed()
	return s, changed
}

// BenchmarkDocuments makes the documents of two large CRDs.
func BenchmarkDocuments(b *testing.B) {
	s, changed := serviceOf(newLarge(), newLarge())
	for path, h := range map[string]http.Handler{"/openapi/v2": s.V2Handler(), "/openapi/v3/apis/example.com/v1": s.V3Handler()} {
		b.Run(path[len("/openapi/"):][:2], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				changed()
				r := httptest.NewRequest(http.MethodHead, path, nil)
				r.Header.Set("Accept-Encoding", "gzip")
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != http.StatusOK {
					b.Fatal(w)
				}
			}
		})
	}
}
