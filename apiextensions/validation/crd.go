package validation

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// Rules validates the CEL rules of a structural schema, whose root is at path, but
// for nodes of which skip reports true.
type Rules func(ctx context.Context, path *field.Path, root *schema.Schema, skip func(*field.Path) bool) field.ErrorList

// Validator validates CRDs.
type Validator struct {
	// Rules and DefaultRules may be nil, which leaves out what they validate.
	Rules Rules
	// DefaultRules validates defaults by the rules of their schemas.
	DefaultRules schema.DefaultRules

	// stays is what the CRD that is updated has wrong already.
	stays stays
}

// Validate validates a new CRD, of which old is nil, or a change.
func (v *Validator) Validate(ctx context.Context, crd, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	if old != nil {
		return v.validateUpdate(ctx, crd, old)
	}
	errs := validateName(crd)
	errs = append(errs, v.spec(ctx, crd, nil)...)
	errs = append(errs, validateStatus(crd)...)
	errs = append(errs, validateStoredVersions(crd, "must appear in spec.versions")...)
	errs = append(errs, validateApproval(crd, nil)...)
	return append(errs, validatePreserve(crd, nil)...)
}

// validateName wants the name, and a generated one's beginning, to be those of the
// resource.
func validateName(crd *apiextensionsv1.CustomResourceDefinition) (errs field.ErrorList) {
	path, want := field.NewPath("metadata"), crd.Spec.Names.Plural+"."+crd.Spec.Group
	const message = `must be spec.names.plural+"."+spec.group`
	if crd.GenerateName != "" && crd.GenerateName != want {
		errs = append(errs, field.Invalid(path.Child("generateName"), crd.GenerateName, message))
	}
	if crd.Name != "" && crd.Name != want {
		errs = append(errs, field.Invalid(path.Child("name"), crd.Name, message))
	}
	return errs
}

func (v *Validator) validateUpdate(ctx context.Context, crd,
	old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	errs := v.spec(ctx, crd, old)
	if len(errs) > 0 {
		if before := staysOf(old); before != (stays{}) {
			lenient := &Validator{Rules: v.Rules, DefaultRules: v.DefaultRules, stays: before}
			errs = lenient.spec(ctx, crd, old)
		}
	}
	errs = append(errs, validateTrust(crd, old)...)
	spec := field.NewPath("spec")
	if IsTrue(old, apiextensionsv1.Established) {
		errs = append(errs, validation.ValidateImmutableField(crd.Spec.Scope, old.Spec.Scope, spec.Child("scope"))...)
		errs = append(errs, validation.ValidateImmutableField(crd.Spec.Names.Kind, old.Spec.Names.Kind,
			spec.Child("names", "kind"))...)
	}
	errs = append(errs, validation.ValidateImmutableField(crd.Spec.Group, old.Spec.Group, spec.Child("group"))...)
	errs = append(errs, validation.ValidateImmutableField(crd.Spec.Names.Plural, old.Spec.Names.Plural,
		spec.Child("names", "plural"))...)
	errs = append(errs, validateStatus(crd)...)
	errs = append(errs, validateStoredVersions(crd, "missing from spec.versions; NAME was previously a storage version, "+
		"and must remain in spec.versions until a storage migration ensures no data remains persisted in NAME "+
		"and removes NAME from status.storedVersions")...)
	errs = append(errs, validateApproval(crd, old)...)
	return append(errs, validatePreserve(crd, old)...)
}

// ValidateStatusUpdate validates a change of a CRD's status.
func (v *Validator) ValidateStatusUpdate(_ context.Context, crd,
	_ *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	return validateStatus(crd)
}

// IsTrue reports whether a condition is there and true.
func IsTrue(crd *apiextensionsv1.CustomResourceDefinition,
	t apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	for i := range crd.Status.Conditions {
		if c := &crd.Status.Conditions[i]; c.Type == t {
			return c.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

func (v *Validator) spec(ctx context.Context, crd, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	spec, path := &crd.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if spec.Group == "" {
		errs = append(errs, field.Required(path.Child("group"), ""))
	} else if msgs := utilvalidation.IsDNS1123Subdomain(spec.Group); len(msgs) > 0 {
		errs = append(errs, field.Invalid(path.Child("group"), spec.Group, strings.Join(msgs, ",")))
	} else if !strings.Contains(spec.Group, ".") {
		errs = append(errs, field.Invalid(path.Child("group"), spec.Group, "should be a domain with at least one dot"))
	}
	errs = append(errs, enum(path.Child("scope"), string(spec.Scope), "Cluster", "Namespaced")...)
	if spec.PreserveUnknownFields && hasDefaults(spec) {
		errs = append(errs, field.Invalid(path.Child("preserveUnknownFields"), true,
			"must be false in order to use defaults in the schema"))
	}

	h := hoist(spec)
	if h.validation == nil || h.validation.OpenAPIV3Schema == nil {
		for i := range spec.Versions {
			if s := spec.Versions[i].Schema; (s == nil || s.OpenAPIV3Schema == nil) && v.needsSchema(spec, &spec.Versions[i]) {
				errs = append(errs, field.Required(path.Child("versions").Index(i).Child("schema", "openAPIV3Schema"), ""))
			}
		}
	}
	errs = append(errs, v.versions(ctx, spec, h, path.Child("versions"))...)
	errs = append(errs, requiredNames(&spec.Names, path.Child("names"))...)
	errs = append(errs, validateNames(&spec.Names, path.Child("names"))...)

	top := v.version(ctx, h.asVersion(), path,
		schemaContext{name: "validation", status: hasStatus(spec), preserve: spec.PreserveUnknownFields})
	errs = append(errs, top...)
	if h.sameSelection() {
		errs = append(errs, validateSelectable(h.asVersion(),
			"may only be set when validations.schema is included", path.Child("selectableFields"))...)
	}
	if spec.Conversion != nil && spec.Conversion.Strategy != apiextensionsv1.NoneConverter && spec.PreserveUnknownFields {
		errs = append(errs, field.Invalid(path.Child("conversion", "strategy"), spec.Conversion.Strategy,
			"must be None if spec.preserveUnknownFields is true"))
	}
	return append(errs, validateConversion(spec.Conversion, recognizedBefore(old), path.Child("conversion"))...)
}

// needsSchema reports whether a version has to have a schema: where old versions have
// none, those that are served and pruned.
func (v *Validator) needsSchema(spec *apiextensionsv1.CustomResourceDefinitionSpec,
	version *apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return !v.stays.noSchema || version.Served && !spec.PreserveUnknownFields
}

func hasDefaults(spec *apiextensionsv1.CustomResourceDefinitionSpec) (found bool) {
	for i := range spec.Versions {
		if s := spec.Versions[i].Schema; s != nil && s.OpenAPIV3Schema != nil {
			schema.Walk(s.OpenAPIV3Schema, func(p *apiextensionsv1.JSONSchemaProps) { found = found || p.Default != nil })
		}
	}
	return found
}

func hasStatus(spec *apiextensionsv1.CustomResourceDefinitionSpec) bool {
	for i := range spec.Versions {
		if s := spec.Versions[i].Subresources; s != nil && s.Status != nil {
			return true
		}
	}
	return false
}

func (v *Validator) versions(ctx context.Context, spec *apiextensionsv1.CustomResourceDefinitionSpec, h hoisted,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	storage := 0
	for i := range spec.Versions {
		version := &spec.Versions[i]
		names.Insert(version.Name)
		if version.Storage {
			storage++
		}
		at := path.Index(i)
		if msgs := utilvalidation.IsDNS1035Label(version.Name); len(msgs) > 0 {
			errs = append(errs, field.Invalid(at.Child("name"), version.Name, strings.Join(msgs, ",")))
		}
		for _, msg := range deprecation(version) {
			errs = append(errs, field.Invalid(at.Child("deprecationWarning"), version.DeprecationWarning, msg))
		}
		own := h.own(version)
		status := version.Subresources != nil && version.Subresources.Status != nil
		errs = append(errs, v.version(ctx, &own, at,
			schemaContext{name: "schema", status: status, preserve: spec.PreserveUnknownFields})...)
		if !h.sameSelection() {
			errs = append(errs, validateSelectable(version,
				"may only be set when `version.schema.openAPIV3Schema` is not included", at.Child("selectableFields"))...)
		}
	}
	if len(names) != len(spec.Versions) {
		errs = append(errs, field.Invalid(path, internalVersions(spec), "must contain unique version names"))
	}
	if storage != 1 {
		errs = append(errs, field.Invalid(path, internalVersions(spec),
			"must have exactly one version marked as storage version"))
	}
	if len(spec.Versions) > 0 && spec.Versions[0].Name != "" &&
		len(utilvalidation.IsDNS1035Label(spec.Versions[0].Name)) > 0 {
		errs = append(errs, field.Invalid(path.Root().Child("version"), spec.Versions[0].Name,
			strings.Join(utilvalidation.IsDNS1035Label(spec.Versions[0].Name), ",")))
	}
	return errs
}

// schemaContext is what the validation of a schema depends on.
type schemaContext struct {
	// name is the name of its field.
	name string
	// status is true if the version has the subresource status, preserve if unknown fields are preserved.
	status, preserve bool
}

// version validates the fields of one version, or those that all versions share.
func (v *Validator) version(ctx context.Context, version *apiextensionsv1.CustomResourceDefinitionVersion,
	path *field.Path, c schemaContext) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, v.schema(ctx, version.Schema, c.status, c.preserve, path.Child(c.name))...)
	errs = append(errs, validateSubresources(version.Subresources, path.Child("subresources"))...)
	for i := range version.AdditionalPrinterColumns {
		errs = append(errs, validateColumn(&version.AdditionalPrinterColumns[i],
			path.Child("additionalPrinterColumns").Index(i))...)
	}
	return errs
}

// internalVersions shows the versions as kube-apiserver does in messages.
func internalVersions(spec *apiextensionsv1.CustomResourceDefinitionSpec) any {
	var out apiextensions.CustomResourceDefinitionSpec
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec(
		spec.DeepCopy(), &out, nil); err != nil {
		return ""
	}
	return out.Versions
}

func validateStatus(crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	return validateNames(&crd.Status.AcceptedNames, field.NewPath("status", "acceptedNames"))
}

// validateStoredVersions holds status.storedVersions to the versions that there
// are; missing formats the message about one that is not, from its name.
func validateStoredVersions(crd *apiextensionsv1.CustomResourceDefinition, missing string) field.ErrorList {
	path, stored := field.NewPath("status", "storedVersions"), crd.Status.StoredVersions
	var errs field.ErrorList
	if len(stored) == 0 {
		errs = append(errs, field.Invalid(path, stored, "must have at least one stored version"))
	}
	known, unseen := sets.New[string](), sets.New(stored...)
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		known.Insert(version.Name)
		if version.Storage && !unseen.Has(version.Name) {
			errs = append(errs, field.Invalid(path, stored, "must have the storage version "+version.Name))
		}
		unseen.Delete(version.Name) // the second version of one name is not stored
	}
	for i, name := range stored {
		if !known.Has(name) {
			errs = append(errs, field.Invalid(path.Index(i), name, strings.ReplaceAll(missing, "NAME", name)))
		}
	}
	return errs
}

func validatePreserve(crd, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	if !crd.Spec.PreserveUnknownFields || old != nil && old.Spec.PreserveUnknownFields {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true,
		"cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead")}
}

// Approval is what the annotation on CRDs of protected groups says.
type Approval int

// The approvals.
const (
	NotNeeded Approval = iota
	Missing
	Bypassed
	Approved
	InvalidApproval
)

// ApprovalOf reads the approval of a CRD, and a reason in words.
func ApprovalOf(crd *apiextensionsv1.CustomResourceDefinition) (Approval, string) {
	group := crd.Spec.Group
	if group != "k8s.io" && group != "kubernetes.io" && !strings.HasSuffix(group, ".k8s.io") &&
		!strings.HasSuffix(group, ".kubernetes.io") {
		return NotNeeded, ""
	}
	const name = apiextensionsv1.KubeAPIApprovedAnnotation
	const see = ", see https://github.com/kubernetes/enhancements/pull/1111"
	said := crd.Annotations[name]
	if said == "" {
		return Missing, fmt.Sprintf("protected groups must have approval annotation %q", name) + see
	}
	if strings.HasPrefix(said, "unapproved") {
		return Bypassed, fmt.Sprintf("not approved: %q", said)
	}
	if u, err := url.ParseRequestURI(said); err == nil && u.Host != "" && u.Scheme != "" {
		return Approved, fmt.Sprintf("approved in %v", said)
	}
	return InvalidApproval, fmt.Sprintf("protected groups must have approval annotation %q with either a URL or a reason starting with \"unapproved\"", name) + see
}

func validateApproval(crd, old *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	state, reason := ApprovalOf(crd)
	if old != nil {
		// What was wrong before may stay as wrong.
		if before, _ := ApprovalOf(old); before == state && (before == Missing || before == InvalidApproval) {
			return nil
		}
	}
	at := field.NewPath("metadata", "annotations").Key(apiextensionsv1.KubeAPIApprovedAnnotation)
	switch state {
	case Missing:
		return field.ErrorList{field.Required(at, reason)}
	case InvalidApproval:
		return field.ErrorList{field.Invalid(at, crd.Annotations[apiextensionsv1.KubeAPIApprovedAnnotation], reason)}
	}
	return nil
}

// enum validates a required text that has to be one of a few.
func enum(path *field.Path, value string, accepted ...string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	for _, a := range accepted {
		if value == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, accepted)}
}

// hoisted is what all versions have in common.
type hoisted struct {
	validation   *apiextensionsv1.CustomResourceValidation
	subresources *apiextensionsv1.CustomResourceSubresources
	columns      []apiextensionsv1.CustomResourceColumnDefinition
	selectable   []apiextensionsv1.SelectableField

	sameValidation, sameSubresources, sameColumns, sameSelectable bool
}

func hoist(spec *apiextensionsv1.CustomResourceDefinitionSpec) hoisted {
	var h hoisted
	if len(spec.Versions) == 0 {
		return h
	}
	first := &spec.Versions[0]
	h.sameValidation, h.sameSubresources, h.sameColumns, h.sameSelectable = true, true, true, true
	for i := 1; i < len(spec.Versions); i++ {
		other := &spec.Versions[i]
		h.sameValidation = h.sameValidation && reflect.DeepEqual(first.Schema, other.Schema)
		h.sameSubresources = h.sameSubresources && reflect.DeepEqual(first.Subresources, other.Subresources)
		h.sameColumns = h.sameColumns && reflect.DeepEqual(first.AdditionalPrinterColumns, other.AdditionalPrinterColumns)
		h.sameSelectable = h.sameSelectable && reflect.DeepEqual(first.SelectableFields, other.SelectableFields)
	}
	if h.sameValidation {
		h.validation = first.Schema
	}
	if h.sameSubresources {
		h.subresources = first.Subresources
	}
	if h.sameColumns {
		h.columns = first.AdditionalPrinterColumns
	}
	if h.sameSelectable {
		h.selectable = first.SelectableFields
	}
	return h
}

// asVersion puts what is common into the shape of a version.
func (h hoisted) asVersion() *apiextensionsv1.CustomResourceDefinitionVersion {
	return &apiextensionsv1.CustomResourceDefinitionVersion{
		Schema: h.validation, Subresources: h.subresources,
		AdditionalPrinterColumns: h.columns, SelectableFields: h.selectable,
	}
}

// sameSelection reports whether the versions have selectable fields in common, and the schema
// that these are looked up in.
func (h hoisted) sameSelection() bool { return h.sameSelectable && h.sameValidation }

// own is the version without what is common.
func (h hoisted) own(version *apiextensionsv1.CustomResourceDefinitionVersion) apiextensionsv1.CustomResourceDefinitionVersion {
	own := *version
	if h.sameValidation {
		own.Schema = nil
	}
	if h.sameSubresources {
		own.Subresources = nil
	}
	if h.sameColumns {
		own.AdditionalPrinterColumns = nil
	}
	if h.sameSelectable {
		own.SelectableFields = nil
	}
	return own
}
