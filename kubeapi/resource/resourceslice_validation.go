package resource

import (
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/kubeapi/check"
)

func defaultSlice(s *resourcev1.ResourceSlice) {
	now := metav1.Now().Rfc3339Copy() // as it is stored, so that two writes in a second do not differ
	for i := range s.Spec.Devices {
		for k := range s.Spec.Devices[i].Taints {
			if t := &s.Spec.Devices[i].Taints[k]; t.TimeAdded == nil {
				t.TimeAdded = &now
			}
		}
	}
}

// validateSlice validates a slice; old is nil for a new one.
func validateSlice(_ context.Context, slice, old *resourcev1.ResourceSlice) field.ErrorList {
	s, path := &slice.Spec, field.NewPath("spec")
	errs := validateDriver(s.Driver, path.Child("driver"))
	pool := path.Child("pool")
	errs = append(errs, validatePool(s.Pool.Name, pool.Child("name"))...)
	if s.Pool.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(pool.Child("resourceSliceCount"), s.Pool.ResourceSliceCount,
			"must be greater than zero"))
	}
	if s.Pool.Generation < 0 {
		errs = append(errs, field.Invalid(pool.Child("generation"), s.Pool.Generation,
			"must be greater than or equal to zero"))
	}
	if old != nil {
		errs = append(errs, check.Immutable(s.Pool.Name, old.Spec.Pool.Name, pool.Child("name"))...)
		errs = append(errs, check.Immutable(s.Driver, old.Spec.Driver, path.Child("driver"))...)
		errs = append(errs, check.Immutable(s.NodeName, old.Spec.NodeName, path.Child("nodeName"))...)
	}
	errs = append(errs, validateNodes(s, path)...)
	if s.SharedCounters != nil && s.Devices != nil {
		errs = append(errs, field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	errs = append(errs, validateSliceDevices(s, path.Child("devices"))...)
	errs = append(errs, validateCounterSets(s.SharedCounters, path.Child("sharedCounters"))...)
	errs = append(errs, validatePartitionType(s, path)...)
	return append(errs, validateSkippedOperations(s.SkipNodeOperations, path.Child("skipNodeOperations"))...)
}

// validatePartitionType requires that all devices that consume counters have the attribute with their type.
func validatePartitionType(s *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	if s.PartitionTypeAttribute == nil {
		return nil
	}
	name := string(*s.PartitionTypeAttribute)
	short := strings.TrimPrefix(name, s.Driver+"/")
	var errs field.ErrorList
	partitioned := false
	for i := range s.Devices {
		d := &s.Devices[i]
		if len(d.ConsumesCounters) == 0 {
			continue
		}
		partitioned = true
		p := path.Child("devices").Index(i).Child("attributes").Key(name)
		a, ok := d.Attributes[resourcev1.QualifiedName(name)]
		if !ok {
			a, ok = d.Attributes[resourcev1.QualifiedName(short)]
		}
		switch {
		case !ok:
			errs = append(errs, field.Required(p, "device consumes counters and `partitionTypeAttribute` names this "+
				"attribute, so it must be set"))
		case a.StringValue == nil:
			errs = append(errs, field.Invalid(p, a, "must be a string value because `partitionTypeAttribute` names this "+
				"attribute"))
		}
	}
	if !partitioned {
		errs = append(errs, field.Invalid(path.Child("partitionTypeAttribute"), name,
			"may only be set on a slice which declares devices that consume counters"))
	}
	return errs
}

func validateSkippedOperations(list []resourcev1.SkipNodeOperation, path *field.Path) field.ErrorList {
	if slices.Contains(list, resourcev1.SkipNodeOperationNodePrepareResources) &&
		!slices.Contains(list, resourcev1.SkipNodeOperationNodeUnprepareResources) &&
		!slices.Contains(list, resourcev1.SkipNodeOperationAll) {
		return field.ErrorList{field.Invalid(path, list,
			"NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped")}
	}
	return nil
}

func validateNodes(s *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	set, errs := validateNodeChoice(s.NodeName, s.NodeSelector, s.AllNodes,
		"must be either unset or set to a non-empty string", path)
	perDevice, more := validateUnsetOrTrue("perDeviceNodeSelection", s.PerDeviceNodeSelection, path)
	set, errs = append(set, perDevice...), append(errs, more...)
	if n := s.NodeSelector; n != nil && len(n.NodeSelectorTerms) != 1 {
		errs = append(errs, field.Invalid(path.Child("nodeSelector", "nodeSelectorTerms"), n.NodeSelectorTerms,
			"must have exactly one node selector term"))
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

// validateNodeChoice validates the ways to say which nodes have access to
// devices, and returns the names of those that are used. The text empty rejects an empty name.
func validateNodeChoice(name *string, selector *corev1.NodeSelector, all *bool, empty string,
	path *field.Path) ([]string, field.ErrorList) {
	var errs field.ErrorList
	var set []string
	if name != nil {
		if *name == "" {
			errs = append(errs, field.Invalid(path.Child("nodeName"), *name, empty))
		} else {
			set = append(set, "`nodeName`")
			errs = append(errs, check.Subdomain(*name, path.Child("nodeName"))...)
		}
	}
	if selector != nil {
		set = append(set, "`nodeSelector`")
		errs = append(errs, check.NodeSelector(selector, path.Child("nodeSelector"))...)
	}
	used, more := validateUnsetOrTrue("allNodes", all, path)
	return append(set, used...), append(errs, more...)
}

func validateUnsetOrTrue(name string, value *bool, path *field.Path) (used []string, errs field.ErrorList) {
	switch {
	case value == nil:
		return nil, nil
	case *value:
		return []string{"`" + name + "`"}, nil
	default:
		return nil, field.ErrorList{field.Invalid(path.Child(name), *value, "must be either unset or set to true")}
	}
}

func validateSliceDevices(s *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	limit := resourcev1.ResourceSliceMaxDevices
	if slices.ContainsFunc(s.Devices, advanced) {
		limit = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	var errs field.ErrorList
	if len(s.Devices) > limit {
		return append(errs, field.TooMany(path, len(s.Devices), limit))
	}
	for i := range s.Devices {
		errs = append(errs, validateDevice(&s.Devices[i], ptr.Deref(s.PerDeviceNodeSelection, false), path.Index(i))...)
	}
	return append(errs, duplicates(s.Devices, func(d *resourcev1.Device) string { return d.Name }, path)...)
}

func validateCounterSets(sets []resourcev1.CounterSet, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if limit := resourcev1.ResourceSliceMaxCounterSets; len(sets) > limit {
		return append(errs, field.TooMany(path, len(sets), limit))
	}
	for i, s := range sets {
		at := path.Index(i)
		errs = append(errs, requiredLabel(s.Name, at.Child("name"))...)
		errs = append(errs, validateCounters(s.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet,
			at.Child("counters"))...)
	}
	return append(errs, duplicates(sets, func(s *resourcev1.CounterSet) string { return s.Name }, path)...)
}

// validateCounters validates the names of counters, of which there must be some.
func validateCounters(counters map[string]resourcev1.Counter, limit int, path *field.Path) field.ErrorList {
	if len(counters) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(counters) > limit {
		return field.ErrorList{field.TooMany(path, len(counters), limit)}
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(counters)) {
		errs = append(errs, check.Label(name, path)...)
	}
	return errs
}

func requiredLabel(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return check.Label(name, path)
}
