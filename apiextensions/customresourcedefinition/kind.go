package customresourcedefinition

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"

	"triplane.dev/apiextensions/controllers"
	"triplane.dev/apiextensions/schema"
	"triplane.dev/apiextensions/schema/cel"
	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/kind"
)

// Object is a CustomResourceDefinition.
type Object = *apiextensionsv1.CustomResourceDefinition

// GVK is its kind, in the hub version.
var GVK = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")

// Kind declares CustomResourceDefinition, as it is kept by a Storage.
func Kind(kept Storage) *kind.Kind[Object] {
	validator := &validation.Validator{Rules: cel.Check, DefaultRules: cel.ValidateDefault}
	return &kind.Kind[Object]{
		Prefix:         "apiextensions.k8s.io/customresourcedefinitions",
		Representation: kind.Typed[Object]{AnyFinalizer: true, MetadataOnUpdate: kind.MetadataChange, Storage: kept},
		Names:          kind.Names{ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"}},
		Write: kind.Write[Object]{
			Default:          setDefaults,
			CountsGeneration: true,
			Prepare:          prepareCRD,
			Validate:         validator.Validate,
			Warnings:         crdWarnings,
		},
		Delete:  kind.Delete[Object]{Mark: markDeletion, UnmetPrecondition: "precondition failed"},
		Columns: crdColumns(),
		Show:    kind.Show[Object]{Cells: crdCells},
		Status:  &kind.Subresource[Object]{Validate: validator.ValidateStatusUpdate},
	}
}

// setDefaults completes a CRD as a client sent it.
func setDefaults(crd Object) {
	spec := &crd.Spec
	if spec.Conversion == nil {
		spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	setWebhookDefaults(spec.Conversion)
	if spec.Names.Singular == "" {
		spec.Names.Singular = strings.ToLower(spec.Names.Kind)
	}
	for i := range spec.Versions {
		if s := spec.Versions[i].Schema; s != nil {
			schema.DropEmptyItems(s.OpenAPIV3Schema)
		}
	}
	if len(crd.Status.StoredVersions) == 0 {
		rememberStorageVersion(crd)
	}
	if spec.Names.ListKind == "" && spec.Names.Kind != "" {
		spec.Names.ListKind = spec.Names.Kind + "List"
	}
}

// setWebhookDefaults completes the webhook of a conversion, or drops one without fields.
func setWebhookDefaults(c *apiextensionsv1.CustomResourceConversion) {
	switch w := c.Webhook; {
	case w == nil:
	case w.ClientConfig == nil && w.ConversionReviewVersions == nil:
		c.Webhook = nil
	case w.ClientConfig != nil && w.ClientConfig.Service != nil && w.ClientConfig.Service.Port == nil:
		w.ClientConfig.Service.Port = ptr.To[int32](443)
	}
}

// prepareCRD completes what a client sent. An empty list of a webhook's versions is owned by its manager, but not
// stored.
func prepareCRD(_ context.Context, crd, _ Object) {
	if c := crd.Spec.Conversion; c != nil && c.Webhook != nil && c.Webhook.ClientConfig == nil &&
		len(c.Webhook.ConversionReviewVersions) == 0 {
		c.Webhook = nil
	}
	tidyDefaults(crd)
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
			crd.Status.StoredVersions = append(slices.Clip(crd.Status.StoredVersions), v.Name)
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

// crdWarnings warns of formats that no value is validated by and that were none such before.
func crdWarnings(_ context.Context, crd, old Object) []string {
	known := map[string]bool{}
	if old != nil {
		eachFormat(old, func(typ, f string) { known[f] = known[f] || !schema.KnownFormat(typ, f) })
	}
	var out []string
	eachFormat(crd, func(typ, f string) {
		if !known[f] && !schema.KnownFormat(typ, f) {
			known[f] = true
			out = append(out, fmt.Sprintf("unrecognized format %q", f))
		}
	})
	return append(out, setWarnings(crd, old)...)
}

// setWarnings warns of sets of objects and lists, of which server-side apply and rules know no equality.
func setWarnings(crd, old Object) []string {
	const text = "x-kubernetes-list-type: set for items of type %q is not supported by server-side apply or CEL validation rules"
	known := map[string]bool{}
	if old != nil {
		eachSet(old, func(of string) { known[of] = true })
	}
	var out []string
	eachSet(crd, func(of string) {
		if !known[of] {
			known[of] = true
			out = append(out, fmt.Sprintf(text, of))
		}
	})
	return out
}

// eachSet calls f with the type of the items of sets that are objects or lists.
func eachSet(crd Object, f func(of string)) {
	for i := range crd.Spec.Versions {
		s := crd.Spec.Versions[i].Schema
		if s == nil || s.OpenAPIV3Schema == nil {
			continue
		}
		schema.Walk(s.OpenAPIV3Schema, func(p *apiextensionsv1.JSONSchemaProps) {
			if p.XListType == nil || *p.XListType != "set" || p.Items == nil || p.Items.Schema == nil {
				return
			}
			if of := p.Items.Schema.Type; of == "object" || of == "array" {
				f(of)
			}
		})
	}
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
