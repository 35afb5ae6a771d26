package openapi

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/openapi"
	"triplane/generic/openapi/models"
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

// BenchmarkDocuments makes what two large CRDs add to the documents.
func BenchmarkDocuments(b *testing.B) {
	all := make([]Definition, 2)
	for i := range all {
		all[i] = newLarge()
	}
	s := NewSource(&models.Source{}, schema.GroupVersion{Group: "example.com", Version: "v1"}, func() []Definition { return all })
	if err := s.V3(openapi.NewDraft(false)); err != nil { // which reads the machinery's models
		b.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"v2": func() error { return s.V2(openapi.NewDraft(true)) },
		"v3": func() error { return s.V3(openapi.NewDraft(false)) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
