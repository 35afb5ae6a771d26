package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/blang/semver/v4"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

// advanced reports whether a device uses what halves the limit of devices in a
// slice: taints, counters or attributes that are lists.
func advanced(d resourcev1.Device) bool {
	return len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 || hasLists(&d)
}

func isList(a *resourcev1.DeviceAttribute) bool {
	return a.IntValues != nil || a.BoolValues != nil || a.StringValues != nil || a.VersionValues != nil
}

func validateDevice(d *resourcev1.Device, perDeviceNodes bool, path *field.Path) field.ErrorList {
	errs := check.Label(d.Name, path.Child("name"))
	if n, limit := len(d.Attributes)+len(d.Capacity),
		resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice; n > limit {
		errs = append(errs, field.Invalid(path, n,
			fmt.Sprintf("the total number of attributes and capacities must not exceed %d", limit)))
	}
	errs = append(errs, validateAttributes(d.Attributes, path)...)
	errs = append(errs, validateCapacities(d.Capacity, ptr.Deref(d.AllowMultipleAllocations, false),
		path.Child("capacity"))...)
	errs = append(errs, validateTaints(d.Taints, path.Child("taints"))...)
	errs = append(errs, validateConsumption(d.ConsumesCounters, path.Child("consumesCounters"))...)
	errs = append(errs, validateDeviceNodes(d, perDeviceNodes, path)...)
	errs = append(errs, validateBinding(d.BindingConditions, d.BindingFailureConditions, path)...)
	return append(errs, validateNodeAllocatable(d, path.Child("nodeAllocatableResources"))...)
}

// validateNodeAllocatable validates what a device means for the resources of its node. The declared rules validate that
// a mapping has one of its two forms.
func validateNodeAllocatable(d *resourcev1.Device, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(d.NodeAllocatableResources)) {
		r, at := d.NodeAllocatableResources[name], path.Key(string(name))
		errs = append(errs, podspec.NodeAllocatable(name, at)...)
		if r.Mapping == nil && r.Overhead == nil {
			errs = append(errs, field.Required(at, "at least one of mapping or overhead must be set"))
		}
		if m := r.Mapping; m != nil {
			errs = append(errs, validateMapping(m, d.Capacity, at.Child("mapping"))...)
		}
		if o := r.Overhead; o != nil {
			errs = append(errs, podspec.NodeOverhead(o.PerPod, o.PerContainer, at.Child("overhead"))...)
		}
	}
	return errs
}

func validateMapping(m *resourcev1.NodeAllocatableMapping,
	capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if key, at := m.CapacityKey, path.Child("capacityKey"); key != nil {
		if _, known := capacity[*key]; *key == "" {
			errs = append(errs, field.Invalid(at, "", "capacityKey must not be an empty string"))
		} else if !known {
			errs = append(errs, field.NotFound(at, *key))
		}
		if m.CapacityMultiplier == nil {
			errs = append(errs, field.Required(path.Child("capacityMultiplier"),
				"capacityMultiplier is required when capacityKey is set"))
		}
	} else if m.CapacityMultiplier != nil {
		errs = append(errs, field.Required(at, "capacityKey is required when capacityMultiplier is set"))
	}
	for _, q := range []struct {
		name  string
		value *resource.Quantity
	}{{"capacityMultiplier", m.CapacityMultiplier}, {"deviceMultiplier", m.DeviceMultiplier}} {
		if q.value != nil && q.value.Sign() <= 0 {
			errs = append(errs, field.Invalid(path.Child(q.name), q.value.String(), "must be positive"))
		}
	}
	return errs
}

func validateAttributes(attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute,
	device *field.Path) field.ErrorList {
	var errs field.ErrorList
	path, values := device.Child("attributes"), 0
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		errs = append(errs, validateQualified(string(name), path)...)
		errs = append(errs, validateAttribute(&a, path.Key(string(name)))...)
		values += max(1, len(a.IntValues)+len(a.BoolValues)+len(a.StringValues)+len(a.VersionValues))
	}
	if limit := resourcev1.ResourceSliceMaxAttributeValuesPerDevice; values > limit {
		errs = append(errs, field.Invalid(device, values,
			fmt.Sprintf("the total number of attribute values must not exceed %d", limit)))
	}
	return errs
}

func validateAttribute(a *resourcev1.DeviceAttribute, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	set := 0
	for _, v := range []struct {
		name  string
		set   bool
		list  bool
		items int
	}{
		{"int", a.IntValue != nil, false, 0}, {"ints", a.IntValues != nil, true, len(a.IntValues)},
		{"bool", a.BoolValue != nil, false, 0}, {"bools", a.BoolValues != nil, true, len(a.BoolValues)},
		{"string", a.StringValue != nil, false, 0}, {"strings", a.StringValues != nil, true, len(a.StringValues)},
		{"version", a.VersionValue != nil, false, 0}, {"versions", a.VersionValues != nil, true, len(a.VersionValues)},
	} {
		if v.set {
			set++
		}
		if v.set && v.list && v.items == 0 {
			errs = append(errs, field.Required(path.Child(v.name), "must not be empty"))
		}
	}
	if a.StringValue != nil {
		errs = append(errs, validateText(*a.StringValue, path.Child("string"))...)
	}
	for i, v := range a.StringValues {
		errs = append(errs, validateText(v, path.Child("strings").Index(i))...)
	}
	if a.VersionValue != nil {
		errs = append(errs, validateVersion(*a.VersionValue, path.Child("version"))...)
	}
	for i, v := range a.VersionValues {
		errs = append(errs, validateVersion(v, path.Child("versions").Index(i))...)
	}
	return errs
}

func validateText(text string, path *field.Path) field.ErrorList {
	if len(text) > resourcev1.DeviceAttributeMaxValueLength {
		return field.ErrorList{field.TooLong(path, "", resourcev1.DeviceAttributeMaxValueLength)}
	}
	return nil
}

func validateVersion(version string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if _, err := semver.Parse(version); err != nil {
		errs = append(errs, field.Invalid(path, version, "must be a string compatible with semver.org spec 2.0.0"))
	}
	return append(errs, validateText(version, path)...)
}

func validateTaints(taints []resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if limit := resourcev1.DeviceTaintsMaxLength; len(taints) > limit {
		return append(errs, field.TooMany(path, len(taints), limit))
	}
	for i := range taints {
		errs = append(errs, validateTaint(&taints[i], path.Index(i))...)
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

// validateConsumption validates what a device takes of the pool's counters.
func validateConsumption(list []resourcev1.DeviceCounterConsumption, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if limit := resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice; len(list) > limit {
		return append(errs, field.TooMany(path, len(list), limit))
	}
	for i, c := range list {
		at := path.Index(i)
		errs = append(errs, requiredLabel(c.CounterSet, at.Child("counterSet"))...)
		errs = append(errs, validateCounters(c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption,
			at.Child("counters"))...)
	}
	return append(errs, duplicates(list, func(c *resourcev1.DeviceCounterConsumption) string { return c.CounterSet },
		path)...)
}

// validateDeviceNodes validates where a device is available, which each device
// of a slice with perDeviceNodeSelection says, and no other.
func validateDeviceNodes(d *resourcev1.Device, perDevice bool, path *field.Path) field.ErrorList {
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	if !perDevice {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			return field.ErrorList{field.Invalid(path, nil,
				"`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec")}
		}
		return nil
	}
	set, errs := validateNodeChoice(d.NodeName, d.NodeSelector, d.AllNodes, "must not be empty", path)
	switch len(set) {
	case 0:
		errs = append(errs, field.Required(path, one))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, "{"+strings.Join(set, ", ")+"}", one))
	}
	return errs
}

// validateBinding validates the conditions that binding waits for. Those that
// let it succeed and those that let it fail come together.
func validateBinding(success, failure []string, path *field.Path) field.ErrorList {
	ready, failed := path.Child("bindingConditions"), path.Child("bindingFailureConditions")
	errs := validateConditionTypes(success, resourcev1.BindingConditionsMaxSize, ready)
	errs = append(errs, validateConditionTypes(failure, resourcev1.BindingFailureConditionsMaxSize, failed)...)
	errs = append(errs, distinctConditions(success, failure, ready, failed)...)
	switch n, m := len(success), len(failure); {
	case n > 0 && m == 0:
		errs = append(errs, field.Invalid(failed, failure, "bindingFailureConditions are required to use bindingConditions"))
	case n == 0 && m > 0:
		errs = append(errs, field.Invalid(ready, success, "bindingConditions are required to use bindingFailureConditions"))
	}
	return errs
}

// distinctConditions wants each condition once, and in one of the lists.
func distinctConditions(success, failure []string, ready, failed *field.Path) field.ErrorList {
	var errs field.ErrorList
	good, bad := sets.New[string](), sets.New[string]()
	for i, t := range success {
		if good.Has(t) {
			errs = append(errs, field.Duplicate(ready.Index(i), t))
		}
		good.Insert(t)
	}
	for i, t := range failure {
		if bad.Has(t) {
			errs = append(errs, field.Duplicate(failed.Index(i), t))
		}
		bad.Insert(t)
		if good.Has(t) {
			errs = append(errs, field.Invalid(failed.Index(i), t,
				"bindingFailureConditions must not overlap with bindingConditions"))
		}
	}
	return errs
}

func validateConditionTypes(list []string, limit int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) > limit {
		return append(errs, field.TooMany(path, len(list), limit))
	}
	for i, t := range list {
		errs = append(errs, metavalidation.ValidateLabelName(t, path.Index(i))...)
	}
	return errs
}

func hasLists(d *resourcev1.Device) bool {
	for _, a := range d.Attributes {
		if isList(&a) {
			return true
		}
	}
	return false
}
