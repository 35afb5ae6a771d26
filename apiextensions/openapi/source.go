package openapi

import (
	"crypto/sha256"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
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
	// Whole decodes the CRD with its schemas.
	Whole() (*apiextensionsv1.CustomResourceDefinition, error)
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

// each calls f for the CRDs that serve the version, one decoded at a time.
func (s *Source) each(refs string, v2 bool, f func(*resource) error) error {
	for _, d := range s.crds() {
		crd, err := d.Whole()
		if err != nil {
			return err
		}
		for i := range crd.Spec.Versions {
			if v := &crd.Spec.Versions[i]; v.Name == s.gv.Version && v.Served {
				if err := f(&resource{crd: crd, version: v, refs: refs, v2: v2}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// V3 renders the document at /openapi/v3/apis/GROUP/VERSION.
func (s *Source) V3() (*spec3.OpenAPI, error) {
	const refs = "#/components/schemas/"
	doc := &spec3.OpenAPI{
		Version:    "3.0.0",
		Info:       &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes CRD Swagger", Version: "v0.1.0"}},
		Paths:      &spec3.Paths{Paths: map[string]*spec3.Path{}},
		Components: &spec3.Components{Schemas: map[string]*spec.Schema{}},
	}
	scale := false
	err := s.each(refs, false, func(r *resource) error {
		schemas, err := r.schemas()
		for name, m := range schemas {
			doc.Components.Schemas[name] = m
		}
		r.paths(doc.Paths.Paths)
		scale = scale || r.version.Subresources != nil && r.version.Subresources.Scale != nil
		return err
	})
	if err != nil {
		return nil, err
	}
	return doc, s.addModels(doc.Components.Schemas, refs, scale)
}

// addModels adds the machinery's models that the resources refer to.
func (s *Source) addModels(into map[string]*spec.Schema, refs string, scale bool) error {
	m, err := s.models.Models()
	if err != nil {
		return err
	}
	names := []string{metaPackage + "ObjectMeta", metaPackage + "ListMeta", metaPackage + "DeleteOptions", metaPackage + "Status", metaPackage + "Patch"}
	if scale {
		names = append(names, scaleModel)
	}
	definitions, err := m.Definitions(m.Closure(names...), func(name string) spec.Ref { return spec.MustCreateRef(refs + name) })
	if err != nil {
		return err
	}
	for name, d := range definitions {
		s := d.Schema
		if refs == "#/components/schemas/" {
			wrapRefs(&s)
		}
		into[name] = &s
	}
	if scale {
		extendKind(into[scaleModel], "Scale", schema.GroupVersion{Group: "autoscaling", Version: "v1"})
	}
	extendKind(into[metaPackage+"DeleteOptions"], "DeleteOptions", openapi.ClientVersions()...)
	extendKind(into[metaPackage+"Status"], "Status", schema.GroupVersion{Version: "v1"})
	return nil
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
func (s *Source) V2() (*spec.Swagger, error) {
	doc := &spec.Swagger{SwaggerProps: spec.SwaggerProps{
		Swagger:     "2.0",
		Paths:       &spec.Paths{Paths: map[string]spec.PathItem{}},
		Definitions: spec.Definitions{},
	}}
	err := s.each("#/definitions/", true, func(r *resource) error {
		schemas, err := r.schemas()
		for name, m := range schemas {
			doc.Definitions[name] = *m
		}
		paths := map[string]*spec3.Path{}
		r.paths(paths)
		for path, p := range paths {
			doc.Paths.Paths[path] = pathV2(p)
		}
		return err
	})
	return doc, err
}
