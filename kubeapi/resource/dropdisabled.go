package resource

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// dropDisabled forgets fields of devices that belong to features which are off
// by default, unless the stored slice uses the feature: lists as attributes
// (DRAListTypeAttributes) and mappings to resources of nodes
// (DRANodeAllocatableResources).
func dropDisabled(s, old *resourcev1.ResourceSliceSpec) {
	if !slices.ContainsFunc(old.Devices, hasLists) {
		for i := range s.Devices {
			dropLists(&s.Devices[i])
		}
	}
	if !slices.ContainsFunc(old.Devices, func(d resourcev1.Device) bool { return d.NodeAllocatableResourceMappings != nil }) {
		for i := range s.Devices {
			s.Devices[i].NodeAllocatableResourceMappings = nil
		}
	}
}

func hasLists(d resourcev1.Device) bool {
	for _, a := range d.Attributes {
		if isList(&a) {
			return true
		}
	}
	return false
}

func dropLists(d *resourcev1.Device) {
	for name, a := range d.Attributes {
		if isList(&a) {
			a.IntValues, a.BoolValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
			d.Attributes[name] = a
		}
	}
}
