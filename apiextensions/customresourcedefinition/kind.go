package customresourcedefinition

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane/apiextensions/controllers"
	"triplane/apiextensions/schema"
	"triplane/apiextensions/schema/cel"
	"triplane/apiextensions/validation"
	"triplane/generic/api/registry"
	"triplane/generic/api/rest"
)

// Object is a CustomResourceDefinition.
type Object = *apiextensionsv1.CustomResourceDefinition

// GVK is its kind, in the hub version.
var GVK = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// Kind declares CustomResourceDefinition, as it is kept by a Storage.
func Kind(kept Storage) *registry.Kind[Object] {
	validator := &validation.Validator{Rules: cel.Check, DefaultRules: cel.ValidateDefault}
	gv := apiextensionsv1.SchemeGroupVersion
	return &registry.Kind[Object]{
		Hub:            GVK,
		Prefix:         "apiextensions.k8s.io/customresourcedefinitions",
		Representation: registry.Typed[Object]{AnyFinalizer: true, MetadataOnUpdate: registry.MetadataChange, Storage: kept},
		Names: registry.Names{
			Plural:     "customresourcedefinitions",
			ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
		},
		Write: registry.Write[Object]{
			Default:          setDefaults,
			PrepareForCreate: prepareCRDForCreate,
			PrepareForUpdate: prepareCRDForUpdate,
			Validate:         validator.Validate,
			ValidateUpdate:   validator.ValidateUpdate,
			Warnings:         crdWarnings,
			ResetFields:      rest.ResetFields{gv: fieldpath.NewSet(fieldpath.MakePathOrDie("status"))},
		},
		Delete: registry.Delete[Object]{Mark: markDeletion},
		Status: &registry.StatusSubresource[Object]{
			PrepareForUpdate: func(_ context.Context, obj, old Object) { obj.Spec = old.Spec },
			ValidateUpdate:   validator.ValidateStatusUpdate,
			ResetFields:      rest.ResetFields{gv: fieldpath.NewSet(fieldpath.MakePathOrDie("spec"))},
		},
	}
}

// setDefaults completes a CRD as a client sent it.
func setDefaults(crd Object) {
	spec := &crd.Spec
	if spec.Conversion == nil {
		spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	if w := spec.Conversion.Webhook; w != nil && w.ClientConfig != nil && w.ClientConfig.Service != nil && w.ClientConfig.Service.Port == nil {
		port := int32(443)
		w.ClientConfig.Service.Port = &port
	}
	if spec.Names.Singular == "" {
		spec.Names.Singular = strings.ToLower(spec.Names.Kind)
	}
	if len(crd.Status.StoredVersions) == 0 {
		rememberStorageVersion(crd)
	}
	if spec.Names.ListKind == "" && spec.Names.Kind != "" {
		spec.Names.ListKind = spec.Names.Kind + "List"
	}
}

func prepareCRDForCreate(_ context.Context, crd Object) {
	crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
	crd.Generation = 1
	tidyDefaults(crd)
	rememberStorageVersion(crd)
}

func prepareCRDForUpdate(_ context.Context, crd, old Object) {
	crd.Status = *old.Status.DeepCopy()
	crd.Generation = old.Generation
	tidyDefaults(crd)
	if !equality.Semantic.DeepEqual(old.Spec, crd.Spec) {
		crd.Generation++
	}
	rememberStorageVersion(crd)
}

// tidyDefaults removes metadata that ObjectMeta does not know from defaults of embedded resources.
func tidyDefaults(crd Object) {
	for i := range crd.Spec.Versions {
		if s := crd.Spec.Versions[i].Schema; s != nil {
			schema.TidyDefaults(s.OpenAPIV3Schema)
		}
	}
}

// rememberStorageVersion notes in which version objects are stored from now on.
func rememberStorageVersion(crd Object) {
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if !v.Storage {
			continue
		}
		if !contains(crd.Status.StoredVersions, v.Name) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
		}
		return
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// markDeletion holds a CRD until its objects are deleted.
func markDeletion(_ context.Context, crd Object) bool {
	if !contains(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer) {
		crd.Finalizers = append(crd.Finalizers, apiextensionsv1.CustomResourceCleanupFinalizer)
	}
	controllers.SetCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Terminating, Status: apiextensionsv1.ConditionTrue, Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
	})
	return true
}

// crdWarnings warns of formats that no value is validated by.
func crdWarnings(_ context.Context, crd, old Object) []string {
	known := map[string]bool{}
	if old != nil {
		eachFormat(old, func(_, f string) { known[f] = true })
	}
	var out []string
	eachFormat(crd, func(typ, f string) {
		if !known[f] && !schema.KnownFormat(typ, f) {
			known[f] = true
			out = append(out, fmt.Sprintf("unrecognized format %q", f))
		}
	})
	return out
}

func eachFormat(crd Object, f func(typ, format string)) {
	for i := range crd.Spec.Versions {
		if s := crd.Spec.Versions[i].Schema; s != nil && s.OpenAPIV3Schema != nil {
			schema.Walk(s.OpenAPIV3Schema, func(p *apiextensionsv1.JSONSchemaProps) {
				if p.Format != "" {
					f(p.Type, p.Format)
				}
			})
		}
	}
}
