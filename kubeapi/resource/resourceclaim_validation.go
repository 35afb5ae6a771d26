package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

const (
	maxRequests      = 32
	maxConstraints   = 32
	maxConfigs       = 32
	maxSubrequests   = 8
	maxSelectors     = 32
	maxExpression    = 10 * 1024
	maxDriver        = 63
	maxParameters    = 10 * 1024
	valueOmitted     = "<value omitted>"
	mustNameARequest = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
)

func validateClass(c *resourcev1.DeviceClass) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateSelectors(c.Spec.Selectors, path.Child("selectors"))
	errs = append(errs, atMost(len(c.Spec.Config), maxConfigs, path.Child("config"))...)
	for i := range c.Spec.Config {
		errs = append(errs, validateConfig(&c.Spec.Config[i].DeviceConfiguration, path.Child("config").Index(i))...)
	}
	if n := c.Spec.ExtendedResourceName; n != nil && !podspec.Extended(*n) {
		errs = append(errs, field.Invalid(path.Child("extendedResourceName"), *n, "must be a valid extended resource name"))
	}
	return errs
}

func validateSelectors(list []resourcev1.DeviceSelector, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) > maxSelectors {
		return append(errs, field.TooMany(path, len(list), maxSelectors))
	}
	for i, s := range list {
		cel := path.Index(i).Child("cel")
		switch {
		case s.CEL == nil:
			errs = append(errs, field.Required(cel, ""))
		case len(s.CEL.Expression) > maxExpression:
			errs = append(errs, field.TooLong(cel.Child("expression"), "", maxExpression))
		default:
			if err := validateSelector(s.CEL.Expression, cel.Child("expression")); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

func validateDriver(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if len(name) > maxDriver {
		errs = append(errs, field.TooLong(path, "", maxDriver))
	}
	return append(errs, check.Name(validation.IsDNS1123Subdomain(strings.ToLower(name)), name, path)...)
}

func validateConfig(c *resourcev1.DeviceConfiguration, path *field.Path) field.ErrorList {
	opaque := path.Child("opaque")
	if c.Opaque == nil {
		return field.ErrorList{field.Required(opaque, "")}
	}
	errs := validateDriver(c.Opaque.Driver, opaque.Child("driver"))
	return append(errs, validateObject(c.Opaque.Parameters.Raw, true, opaque.Child("parameters"))...)
}

// validateObject validates raw data, which has to be a JSON object.
func validateObject(raw []byte, required bool, path *field.Path) field.ErrorList {
	data := bytes.TrimSpace(raw)
	switch {
	case len(data) == 0 || bytes.Equal(data, []byte("null")):
		if required {
			return field.ErrorList{field.Required(path, "")}
		}
		return nil
	case len(data) > maxParameters:
		return field.ErrorList{field.TooLong(path, "", maxParameters)}
	case data[0] != '{' || !json.Valid(data):
		return field.ErrorList{field.Invalid(path, valueOmitted, "must be a valid JSON object")}
	}
	return nil
}

// requestNames are the requests of a claim with their subrequests.
type requestNames map[string]map[string]bool

func namesOf(s *resourcev1.DeviceClaim) requestNames {
	names := requestNames{}
	for _, r := range s.Requests {
		subs := map[string]bool{}
		for _, f := range r.FirstAvailable {
			subs[f.Name] = true
		}
		names[r.Name] = subs
	}
	return names
}

func (n requestNames) has(ref string) bool {
	name, sub, ok := strings.Cut(ref, "/")
	subs, known := n[name]
	return known && (!ok || subs[sub])
}

func validateClaimSpec(s *resourcev1.ResourceClaimSpec, path *field.Path) field.ErrorList {
	devices := path.Child("devices")
	var errs field.ErrorList
	requests := devices.Child("requests")
	errs = append(errs, atMost(len(s.Devices.Requests), maxRequests, requests)...)
	derived := &derivedAttributes{constraints: s.Devices.Constraints}
	for i := range s.Devices.Requests {
		errs = append(errs, validateRequest(&s.Devices.Requests[i], derived, requests.Index(i))...)
	}
	errs = append(errs, duplicates(s.Devices.Requests, func(r *resourcev1.DeviceRequest) string { return r.Name },
		requests)...)
	errs = append(errs, derived.total(devices)...)
	names := namesOf(&s.Devices)
	errs = append(errs, atMost(len(s.Devices.Constraints), maxConstraints, devices.Child("constraints"))...)
	for i := range s.Devices.Constraints {
		errs = append(errs, validateConstraint(&s.Devices.Constraints[i], names, devices.Child("constraints").Index(i))...)
	}
	errs = append(errs, atMost(len(s.Devices.Config), maxConfigs, devices.Child("config"))...)
	for i := range s.Devices.Config {
		at := devices.Child("config").Index(i)
		errs = append(errs, validateReferences(s.Devices.Config[i].Requests, names, at.Child("requests"))...)
		errs = append(errs, validateConfig(&s.Devices.Config[i].DeviceConfiguration, at)...)
	}
	return errs
}

// atMost refuses lists that are too long.
func atMost(n, limit int, path *field.Path) field.ErrorList {
	if n > limit {
		return field.ErrorList{field.TooMany(path, n, limit)}
	}
	return nil
}

// duplicates refuses entries whose key an earlier one has. They are reported after what is
// wrong with the entries themselves.
func duplicates[T any, K comparable](list []T, key func(*T) K, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := make(map[K]bool, len(list))
	for i := range list {
		k := key(&list[i])
		if seen[k] {
			errs = append(errs, field.Duplicate(path.Index(i), k))
		}
		seen[k] = true
	}
	return errs
}

func itself(s *string) string { return *s }

func validateReferences(list []string, names requestNames, path *field.Path) field.ErrorList {
	if errs := atMost(len(list), maxRequests, path); errs != nil {
		return errs
	}
	var errs field.ErrorList
	for i, ref := range list {
		errs = append(errs, validateReference(ref, names, path.Index(i))...)
	}
	return append(errs, duplicates(list, itself, path)...)
}

// validateReference validates the name of a request, with that of a subrequest
// after a slash where it is meant alone.
func validateReference(ref string, names requestNames, path *field.Path) field.ErrorList {
	parts := strings.Split(ref, "/")
	if len(parts) > 2 {
		return field.ErrorList{field.Invalid(path, ref, mustNameARequest)}
	}
	var errs field.ErrorList
	for _, part := range parts {
		errs = append(errs, check.Label(part, path)...)
	}
	if !names.has(ref) {
		errs = append(errs, field.Invalid(path, ref, mustNameARequest))
	}
	return errs
}

func validateRequest(r *resourcev1.DeviceRequest, derived *derivedAttributes, path *field.Path) field.ErrorList {
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	errs := check.Label(r.Name, path.Child("name"))
	switch {
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		return append(errs, field.Invalid(path, nil, one+", but multiple fields are set"))
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		return append(errs, field.Required(path, one))
	case r.Exactly != nil:
		e := r.Exactly
		common := resourcev1.DeviceSubRequest{DeviceClassName: e.DeviceClassName, Selectors: e.Selectors,
			AllocationMode: e.AllocationMode, Count: e.Count, Tolerations: e.Tolerations,
			DerivedAttributes: e.DerivedAttributes}
		return append(errs, validateDeviceRequest(&common, derived, path.Child("exactly"), r.Name)...)
	}
	first := path.Child("firstAvailable")
	if len(r.FirstAvailable) > maxSubrequests {
		return append(errs, field.TooMany(first, len(r.FirstAvailable), maxSubrequests))
	}
	for i := range r.FirstAvailable {
		f := &r.FirstAvailable[i]
		at := first.Index(i)
		errs = append(errs, check.Label(f.Name, at.Child("name"))...)
		errs = append(errs, validateDeviceRequest(f, derived, at, r.Name, r.Name+"/"+f.Name)...)
	}
	return append(errs, duplicates(r.FirstAvailable, func(s *resourcev1.DeviceSubRequest) string { return s.Name },
		first)...)
}

// validateDeviceRequest validates what exact requests and subrequests have in common.
func validateDeviceRequest(r *resourcev1.DeviceSubRequest, derived *derivedAttributes, path *field.Path,
	names ...string) field.ErrorList {
	var errs field.ErrorList
	if r.DeviceClassName == "" {
		errs = append(errs, field.Required(path.Child("deviceClassName"), ""))
	} else {
		errs = append(errs, check.Subdomain(r.DeviceClassName, path.Child("deviceClassName"))...)
	}
	errs = append(errs, validateSelectors(r.Selectors, path.Child("selectors"))...)
	errs = append(errs, derived.validate(r.DerivedAttributes, path.Child("derivedAttributes"), names...)...)
	switch r.AllocationMode {
	case resourcev1.DeviceAllocationModeAll:
		if r.Count != 0 {
			errs = append(errs, field.Invalid(path.Child("count"), r.Count,
				fmt.Sprintf("must not be specified when allocationMode is '%s'", r.AllocationMode)))
		}
	case resourcev1.DeviceAllocationModeExactCount:
		if r.Count <= 0 {
			errs = append(errs, field.Invalid(path.Child("count"), r.Count, "must be greater than zero"))
		}
	default:
		errs = append(errs, check.OneOf(r.AllocationMode, path.Child("allocationMode"), resourcev1.DeviceAllocationModeAll,
			resourcev1.DeviceAllocationModeExactCount)...)
	}
	for i := range r.Tolerations {
		errs = append(errs, validateToleration(&r.Tolerations[i], path.Child("tolerations").Index(i))...)
	}
	return errs
}

func validateToleration(t *resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Key != "" {
		errs = append(errs, metavalidation.ValidateLabelName(t.Key, path.Child("key"))...)
	}
	switch t.Operator {
	case resourcev1.DeviceTolerationOpExists, resourcev1.DeviceTolerationOpEqual:
		errs = append(errs, validateTolerationValue(t, path.Child("value"))...)
	case "":
		errs = append(errs, field.Required(path.Child("operator"), ""))
	default:
		errs = append(errs, check.OneOf(t.Operator, path.Child("operator"), resourcev1.DeviceTolerationOpEqual,
			resourcev1.DeviceTolerationOpExists)...)
	}
	if t.Effect != "" {
		errs = append(errs, check.OneOf(t.Effect, path.Child("effect"), effects()...)...)
	}
	return errs
}

func validateTolerationValue(t *resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	switch {
	case t.Operator == resourcev1.DeviceTolerationOpExists && t.Value != "":
		return field.ErrorList{field.Invalid(path, t.Value, "must be empty for operator `Exists`")}
	case t.Operator == resourcev1.DeviceTolerationOpEqual:
		return check.Name(validation.IsValidLabelValue(t.Value), t.Value, path)
	}
	return nil
}

func effects() []resourcev1.DeviceTaintEffect {
	return []resourcev1.DeviceTaintEffect{resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNoSchedule,
		resourcev1.DeviceTaintEffectNone}
}

func validateConstraint(c *resourcev1.DeviceConstraint, names requestNames, path *field.Path) field.ErrorList {
	errs := validateReferences(c.Requests, names, path.Child("requests"))
	switch {
	case c.MatchAttribute != nil:
		errs = append(errs, validateFullName(string(*c.MatchAttribute), path.Child("matchAttribute"))...)
	case c.DistinctAttribute != nil:
		errs = append(errs, validateFullName(string(*c.DistinctAttribute), path.Child("distinctAttribute"))...)
	default:
		errs = append(errs, field.Required(path,
			`exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
	}
	return errs
}

func validateFullName(name string, path *field.Path) field.ErrorList {
	errs := validateQualified(name, path)
	if !strings.Contains(name, "/") {
		errs = append(errs, field.Invalid(path, name,
			"a fully qualified name must be a domain and a name separated by a slash"))
	}
	return errs
}

// validateQualified validates the name of an attribute: an identifier with an
// optional domain before a slash.
func validateQualified(name string, path *field.Path) field.ErrorList {
	if strings.Count(name, "/") > 1 {
		return nil // kube-apiserver looks at none of the parts
	}
	domain, id, ok := strings.Cut(name, "/")
	if !ok {
		return validateIdentifier(name, path)
	}
	var errs field.ErrorList
	if domain == "" {
		errs = append(errs, field.Invalid(path, "", "the domain must not be empty"))
	} else {
		errs = append(errs, validateDriver(domain, path)...)
	}
	if id == "" {
		return append(errs, field.Invalid(path, "", "the name must not be empty"))
	}
	return append(errs, validateIdentifier(id, path)...)
}

func validateIdentifier(id string, path *field.Path) field.ErrorList {
	const (
		format = `[A-Za-z_][A-Za-z0-9_]*`
		what   = "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'"
	)
	var errs field.ErrorList
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	}
	if !identifier(id) {
		errs = append(errs, field.Invalid(path, id, validation.RegexError(what, format, "my_name", "MY_NAME", "MyName")))
	}
	return errs
}

func identifier(s string) bool {
	for i, c := range s {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
