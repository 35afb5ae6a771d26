package openapi

import (
	"crypto/sha256"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
)

// Source renders the documents of one group version of CRDs. It implements
// generic/api/openapi's Source and Hasher, holds no document, and is safe for
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

// NewSource returns the source for the CRDs that serve the group version. crds is called for each document. Set a new
// source after a change of the CRDs.
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
	draft *openapi.Draft
	// queries are the parameters that options stand for, by their type.
	queries map[string][]openapi.Parameter
	text    []byte // of the model that is being written
}

func newDocument(draft *openapi.Draft) *document {
	refs := "#/components/schemas/"
	if draft.V2 {
		refs = "#/definitions/"
	}
	return &document{publisher: publisher{refs: refs, v2: draft.V2}, draft: draft,
		queries: map[string][]openapi.Parameter{}}
}

// each calls f for the CRDs that serve the version.
func (s *Source) each(f func(*resource)) error {
	for _, d := range s.crds() {
		crd := d.Outline()
		schemas, err := d.Schemas()
		if err != nil {
			return err
		}
		if v := s.version(crd); v != nil {
			f(&resource{crd: crd, version: v, schema: schemas[v.Name]})
		}
	}
	return nil
}

// version is the one that the documents are of, nil where the CRD does not serve it.
func (s *Source) version(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == s.gv.Version && v.Served {
			return v
		}
	}
	return nil
}

// V3 writes the document at /openapi/v3/apis/GROUP/VERSION.
func (s *Source) V3(draft *openapi.Draft) error {
	m, err := s.models.Models()
	if err != nil {
		return err
	}
	draft.About("Kubernetes CRD Swagger", "v0.1.0")
	if err := draft.Models(m, kindsOf, s.machinery()...); err != nil {
		return err
	}
	return s.write(draft)
}

// machinery are the models that those of CRDs and their operations refer to.
func (s *Source) machinery() []string {
	names := []string{metaPackage + "ObjectMeta", metaPackage + "ListMeta", metaPackage + "DeleteOptions", metaPackage +
		"Status", metaPackage + "Patch"}
	for _, d := range s.crds() {
		if v := s.version(d.Outline()); v != nil && v.Subresources != nil && v.Subresources.Scale != nil {
			return append(names, scaleModel)
		}
	}
	return names
}

// kindsOf returns of which kinds the machinery's models are.
func kindsOf(model string) (kinds []schema.GroupVersionKind) {
	switch model {
	case scaleModel:
		return []schema.GroupVersionKind{{Group: "autoscaling", Version: "v1", Kind: "Scale"}}
	case metaPackage + "DeleteOptions":
		for _, gv := range openapi.ClientVersions() {
			kinds = append(kinds, gv.WithKind("DeleteOptions"))
		}
		return kinds
	case metaPackage + "Status":
		return []schema.GroupVersionKind{{Version: "v1", Kind: "Status"}}
	}
	return nil
}

// V2 writes what the group version adds to /openapi/v2.
func (s *Source) V2(draft *openapi.Draft) error { return s.write(draft) }

func (s *Source) write(draft *openapi.Draft) error {
	d := newDocument(draft)
	return s.each(func(r *resource) {
		d.models(r)
		d.paths(r)
	})
}
