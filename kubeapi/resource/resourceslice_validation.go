package resource

import (
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/check"
	"triplane/kubeapi/podspec"
)

const (
	maxDevices     = 128
	maxPerDevice   = 32
	maxCounterSets = 8
	maxText        = 64
)

func defaultSlice(s *resourcev1.ResourceSlice) {
	now := metav1.Now()
	for i := range s.Spec.Devices {
		for k := range s.Spec.Devices[i].Taints {
			if t := &s.Spec.Devices[i].Taints[k]; t.TimeAdded == nil {
				t.TimeAdded = &now
			}
		}
	}
}

func validateSlice(slice *resourcev1.ResourceSlice) field.ErrorList {
	s, path := &slice.Spec, field.NewPath("spec")
	errs := validateDriver(s.Driver, path.Child("driver"))
	pool := path.Child("pool")
	errs = append(errs, validatePool(s.Pool.Name, pool.Child("name"))...)
	if s.Pool.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(pool.Child("resourceSliceCount"), s.Pool.ResourceSliceCount, "must be greater than zero"))
	}
	if s.Pool.Generation < 0 {
		errs = append(errs, field.Invalid(pool.Child("generation"), s.Pool.Generation, "must be greater than or equal to zero"))
	}
	errs = append(errs, validateNodes(s, path)...)
	if len(s.SharedCounters) > 0 && len(s.Devices) > 0 {
		errs = append(errs, field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	errs = append(errs, validateSliceDevices(s, path.Child("devices"))...)
	return append(errs, validateCounterSets(s.SharedCounters, path.Child("sharedCounters"))...)
}

func validateNodes(s *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	var errs field.ErrorList
	var set []string
	if n := s.NodeName; n != nil {
		if *n == "" {
			errs = append(errs, field.Invalid(path.Child("nodeName"), *n, "must be either unset or set to a non-empty string"))
		} else {
			set = append(set, "`nodeName`")
			errs = append(errs, check.Subdomain(*n, path.Child("nodeName"))...)
		}
	}
	if s.NodeSelector != nil {
		set = append(set, "`nodeSelector`")
		errs = append(errs, validateOneTerm(s.NodeSelector, path.Child("nodeSelector"))...)
	}
	for _, b := range []struct {
		name  string
		value *bool
	}{{"allNodes", s.AllNodes}, {"perDeviceNodeSelection", s.PerDeviceNodeSelection}} {
		if b.value == nil {
			continue
		}
		if *b.value {
			set = append(set, "`"+b.name+"`")
		} else {
			errs = append(errs, field.Invalid(path.Child(b.name), *b.value, "must be either unset or set to true"))
		}
	}
	switch len(set) {
	case 0:
		errs = append(errs, field.Required(path, one))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, "{"+strings.Join(set, ", ")+"}", one+", but multiple fields are set"))
	}
	return errs
}

func validateOneTerm(s *corev1.NodeSelector, path *field.Path) field.ErrorList {
	errs := podspec.NodeSelector(s, path)
	if len(s.NodeSelectorTerms) != 1 {
		errs = append(errs, field.Invalid(path.Child("nodeSelectorTerms"), s.NodeSelectorTerms, "must have exactly one node selector term"))
	}
	return errs
}

func validateSliceDevices(s *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(s.Devices) > maxDevices {
		return append(errs, field.TooMany(path, len(s.Devices), maxDevices))
	}
	seen := map[string]bool{}
	for i := range s.Devices {
		d, at := &s.Devices[i], path.Index(i)
		errs = append(errs, check.Label(d.Name, at.Child("name"))...)
		if n := len(d.Attributes) + len(d.Capacity); n > maxPerDevice {
			errs = append(errs, field.Invalid(at, n, "the total number of attributes and capacities must not exceed 32"))
		}
		for _, name := range slices.Sorted(maps.Keys(d.Attributes)) {
			errs = append(errs, validateQualified(string(name), at.Child("attributes"))...)
			a := d.Attributes[name]
			errs = append(errs, validateAttribute(&a, at.Child("attributes").Key(string(name)))...)
		}
		for _, name := range slices.Sorted(maps.Keys(d.Capacity)) {
			errs = append(errs, validateQualified(string(name), at.Child("capacity"))...)
		}
		for k := range d.Taints {
			errs = append(errs, validateTaint(&d.Taints[k], at.Child("taints").Index(k))...)
		}
		if seen[d.Name] {
			errs = append(errs, field.Duplicate(at, d.Name))
		}
		seen[d.Name] = true
	}
	return errs
}

func validateAttribute(a *resourcev1.DeviceAttribute, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	set := 0
	for _, present := range []bool{a.IntValue != nil, a.BoolValue != nil, a.IntValues != nil, a.BoolValues != nil} {
		if present {
			set++
		}
	}
	texts := func(name string, values []string, semantic bool) {
		for _, v := range values {
			if len(v) > maxText {
				errs = append(errs, field.TooLong(path.Child(name), "", maxText))
			}
			if _, err := semver.Parse(v); semantic && err != nil {
				errs = append(errs, field.Invalid(path.Child(name), v, "must be a string compatible with semver.org spec 2.0.0"))
			}
		}
		set++
	}
	if a.StringValue != nil {
		texts("string", []string{*a.StringValue}, false)
	}
	if a.VersionValue != nil {
		texts("version", []string{*a.VersionValue}, true)
	}
	if a.StringValues != nil {
		texts("strings", a.StringValues, false)
	}
	if a.VersionValues != nil {
		texts("versions", a.VersionValues, true)
	}
	switch set {
	case 0:
		errs = append(errs, field.Invalid(path, "", "exactly one value must be specified"))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, *a, "exactly one value must be specified"))
	}
	return errs
}

func validateTaint(t *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	errs := metavalidation.ValidateLabelName(t.Key, path.Child("key"))
	if t.Value != "" {
		errs = append(errs, check.Name(validation.IsValidLabelValue(t.Value), t.Value, path.Child("value"))...)
	}
	if t.Effect == "" {
		return append(errs, field.Required(path.Child("effect"), ""))
	}
	return append(errs, check.OneOf(t.Effect, path.Child("effect"), effects()...)...)
}

func validateCounterSets(sets []resourcev1.CounterSet, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(sets) > maxCounterSets {
		return append(errs, field.TooMany(path, len(sets), maxCounterSets))
	}
	seen := map[string]bool{}
	for i, s := range sets {
		at := path.Index(i)
		if s.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, check.Label(s.Name, at.Child("name"))...)
		}
		if len(s.Counters) == 0 {
			errs = append(errs, field.Required(at.Child("counters"), ""))
		}
		for _, name := range slices.Sorted(maps.Keys(s.Counters)) {
			errs = append(errs, check.Label(name, at.Child("counters"))...)
		}
		if seen[s.Name] {
			errs = append(errs, field.Duplicate(at, s.Name))
		}
		seen[s.Name] = true
	}
	return errs
}
