package openapi

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"triplane/generic/openapi"
	"triplane/generic/openapi/models"
)

// Source renders the documents of one group version of CRDs. It implements
// generic/openapi's Source and Hasher, holds no document, and is safe for
// concurrent use.
type Source struct {
	models *models.Source
	gv     schema.GroupVersion
	crds   func() []Definition
}

// Definition is a CRD whose schemas are read when a document is made of them.
type Definition interface {
	// Outline is the CRD, perhaps without its schemas.
	Outline() *apiextensionsv1.CustomResourceDefinition
	// Schemas returns the schemas of its versions, those that have one, in JSON.
	Schemas() (map[string][]byte, error)
}

// NewSource returns the source for the CRDs that serve the group version, which
// are asked for when a document is. Set it anew when they change.
func NewSource(m *models.Source, gv schema.GroupVersion, crds func() []Definition) *Source {
	return &Source{models: m, gv: gv, crds: crds}
}

// Hash identifies which CRDs the documents are made of: the same ones make the same
// documents, at every server.
func (s *Source) Hash() string {
	h := sha256.New()
	for _, d := range s.crds() {
		crd := d.Outline()
		names := &crd.Status.AcceptedNames
		fmt.Fprintf(h, "%q %q %d %q %q %q\n", crd.Name, crd.UID, crd.Generation, names.Plural, names.Kind, names.ListKind)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// document is one that is being made.
type document struct {
	publisher
	// shared is what stands for a parameter in v2.
	shared func(spec.Parameter) spec.Parameter
	// queries are the parameters in JSON of options, by their type.
	queries map[string][]byte
}

// each calls f for the CRDs that serve the version.
func (s *Source) each(f func(*resource)) error {
	for _, d := range s.crds() {
		crd := d.Outline()
		schemas, err := d.Schemas()
		if err != nil {
			return err
		}
		for i := range crd.Spec.Versions {
			if v := &crd.Spec.Versions[i]; v.Name == s.gv.Version && v.Served {
				f(&resource{crd: crd, version: v, schema: schemas[v.Name]})
			}
		}
	}
	return nil
}

// V3 renders the document at /openapi/v3/apis/GROUP/VERSION.
func (s *Source) V3() (json.Marshaler, error) {
	d := &document{publisher: publisher{refs: refsV3}, queries: map[string][]byte{}}
	var paths, models []openapi.Member
	scale := false
	err := s.each(func(r *resource) {
		models, paths = append(models, d.models(r)...), append(paths, d.paths(r)...)
		scale = scale || r.version.Subresources != nil && r.version.Subresources.Scale != nil
	})
	if err != nil {
		return nil, err
	}
	machinery, err := s.machinery(scale)
	if err != nil {
		return nil, err
	}
	models = append(models, machinery...)
	o := begin(make([]byte, 0, size(paths)+size(models)+1024))
	o.text("openapi", "3.0.0")
	o.member("info", []byte(`{"title":"Kubernetes CRD Swagger","version":"v0.1.0"}`))
	o.key([]byte("paths"))
	o.members(paths)
	o.key([]byte("components"))
	components := begin(o.dst)
	components.key([]byte("schemas"))
	components.members(models)
	o.dst = components.end()
	return json.RawMessage(o.end()), nil
}

// size is how many bytes members take in an object.
func size(members []openapi.Member) (n int) {
	for i := range members {
		n += len(members[i].Name) + len(members[i].JSON) + len(`"":,`)
	}
	return n
}

const refsV3, refsV2 = "#/components/schemas/", "#/definitions/"

// machinery returns the machinery's models that the resources of v3 refer to.
func (s *Source) machinery(scale bool) ([]openapi.Member, error) {
	m, err := s.models.Models()
	if err != nil {
		return nil, err
	}
	names := []string{metaPackage + "ObjectMeta", metaPackage + "ListMeta", metaPackage + "DeleteOptions", metaPackage + "Status", metaPackage + "Patch"}
	if scale {
		names = append(names, scaleModel)
	}
	definitions, err := m.Definitions(m.Closure(names...), func(name string) spec.Ref { return spec.MustCreateRef(refsV3 + name) })
	if err != nil {
		return nil, err
	}
	out := make([]openapi.Member, 0, len(definitions))
	for _, name := range slices.Sorted(maps.Keys(definitions)) {
		s := definitions[name].Schema
		wrapRefs(&s)
		switch name {
		case scaleModel:
			extendKind(&s, "Scale", schema.GroupVersion{Group: "autoscaling", Version: "v1"})
		case metaPackage + "DeleteOptions":
			extendKind(&s, "DeleteOptions", openapi.ClientVersions()...)
		case metaPackage + "Status":
			extendKind(&s, "Status", schema.GroupVersion{Version: "v1"})
		}
		b, err := s.MarshalJSON()
		if err != nil {
			return nil, err
		}
		out = append(out, openapi.Member{Name: name, JSON: b})
	}
	return out, nil
}

func extendKind(s *spec.Schema, kind string, gvs ...schema.GroupVersion) {
	var kinds []any
	for _, gv := range gvs {
		kinds = append(kinds, map[string]any{"group": gv.Group, "version": gv.Version, "kind": kind})
	}
	s.AddExtension("x-kubernetes-group-version-kind", kinds)
}

// wrapRefs puts references that say more than the reference into allOf, which
// OpenAPI v3 asks for.
func wrapRefs(s *spec.Schema) {
	for name, p := range s.Properties {
		if p.Ref.String() != "" && (p.Description != "" || p.Default != nil) {
			p.AllOf = []spec.Schema{{SchemaProps: spec.SchemaProps{Ref: p.Ref}}}
			p.Ref = spec.Ref{}
		}
		wrapRefs(&p)
		s.Properties[name] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		wrapRefs(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		wrapRefs(s.AdditionalProperties.Schema)
	}
}

// V2 renders what the group version adds to /openapi/v2.
func (s *Source) V2(shared func(spec.Parameter) spec.Parameter) (*openapi.Addition, error) {
	d := &document{publisher: publisher{refs: refsV2, v2: true}, shared: shared, queries: map[string][]byte{}}
	out := &openapi.Addition{}
	err := s.each(func(r *resource) {
		out.Models = append(out.Models, d.models(r)...)
		out.Paths = append(out.Paths, d.paths(r)...)
	})
	return out, err
}
