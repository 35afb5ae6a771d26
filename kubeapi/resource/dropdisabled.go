package resource

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"triplane/kubeapi/group"
)

// features are those whose fields are forgotten where they are off, unless the
// stored object uses them.
type features struct {
	listAttributes, nodeResources, partitions, taints, consumable, bindingConditions, deviceStatus, extended bool
}

func featuresOf(d *group.Deps) features {
	return features{
		listAttributes: d.Gate("DRAListTypeAttributes"), nodeResources: d.Gate("DRANodeAllocatableResources"),
		partitions: d.Gate("DRAPartitionableDevices"), taints: d.Gate("DRADeviceTaints"), consumable: d.Gate("DRAConsumableCapacity"),
		bindingConditions: d.Gate("DRADeviceBindingConditions"), deviceStatus: d.Gate("DRAResourceClaimDeviceStatus"), extended: d.Gate("DRAExtendedResource"),
	}
}

// dropFromSlice forgets what a slice has of features that are off.
func (f features) dropFromSlice(s, old *resourcev1.ResourceSliceSpec) {
	for _, rule := range []struct {
		on   bool
		uses func(*resourcev1.Device) bool
		drop func(*resourcev1.Device)
	}{
		{f.listAttributes, hasLists, dropLists},
		{f.nodeResources, func(d *resourcev1.Device) bool { return d.NodeAllocatableResourceMappings != nil }, func(d *resourcev1.Device) { d.NodeAllocatableResourceMappings = nil }},
		{f.taints, func(d *resourcev1.Device) bool { return d.Taints != nil }, func(d *resourcev1.Device) { d.Taints = nil }},
		{f.consumable, consumable, dropConsumable},
		{f.bindingConditions, func(d *resourcev1.Device) bool {
			return d.BindsToNode != nil || d.BindingConditions != nil || d.BindingFailureConditions != nil
		}, func(d *resourcev1.Device) {
			d.BindsToNode, d.BindingConditions, d.BindingFailureConditions = nil, nil, nil
		}},
		{f.partitions || partitioned(old), partitionedDevice, func(d *resourcev1.Device) {
			d.ConsumesCounters, d.NodeName, d.NodeSelector, d.AllNodes = nil, nil, nil, nil
		}},
	} {
		if rule.on || slices.ContainsFunc(old.Devices, func(d resourcev1.Device) bool { return rule.uses(&d) }) {
			continue
		}
		for i := range s.Devices {
			rule.drop(&s.Devices[i])
		}
	}
	if !f.partitions && !partitioned(old) {
		s.SharedCounters, s.PerDeviceNodeSelection = nil, nil
	}
}

func partitioned(s *resourcev1.ResourceSliceSpec) bool {
	return s.SharedCounters != nil || s.PerDeviceNodeSelection != nil ||
		slices.ContainsFunc(s.Devices, func(d resourcev1.Device) bool { return partitionedDevice(&d) })
}

func partitionedDevice(d *resourcev1.Device) bool {
	return d.ConsumesCounters != nil || d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil
}

func hasLists(d *resourcev1.Device) bool {
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

func consumable(d *resourcev1.Device) bool {
	for _, c := range d.Capacity {
		if c.RequestPolicy != nil {
			return true
		}
	}
	return d.AllowMultipleAllocations != nil
}

func dropConsumable(d *resourcev1.Device) {
	d.AllowMultipleAllocations = nil
	for name, c := range d.Capacity {
		c.RequestPolicy = nil
		d.Capacity[name] = c
	}
}

// dropFromClaim forgets what a new claim has of features that are off; a claim's
// spec does not change.
func (f features) dropFromClaim(s *resourcev1.ResourceClaimSpec) {
	for i := range s.Devices.Requests {
		r := &s.Devices.Requests[i]
		if e := r.Exactly; e != nil {
			f.dropFromRequest(&e.Tolerations, &e.Capacity)
		}
		for k := range r.FirstAvailable {
			f.dropFromRequest(&r.FirstAvailable[k].Tolerations, &r.FirstAvailable[k].Capacity)
		}
	}
	if !f.consumable {
		for i := range s.Devices.Constraints {
			s.Devices.Constraints[i].DistinctAttribute = nil
		}
	}
}

func (f features) dropFromRequest(tolerations *[]resourcev1.DeviceToleration, capacity **resourcev1.CapacityRequirements) {
	if !f.taints {
		*tolerations = nil
	}
	if !f.consumable {
		*capacity = nil
	}
}

// dropFromStatus forgets the states of devices, unless there were some.
func (f features) dropFromStatus(s, old *resourcev1.ResourceClaimStatus) {
	if !f.deviceStatus && old.Devices == nil {
		s.Devices = nil
	}
}

// dropFromClass forgets the name of an extended resource, unless there was one.
func (f features) dropFromClass(s, old *resourcev1.DeviceClassSpec) {
	if !f.extended && old.ExtendedResourceName == nil {
		s.ExtendedResourceName = nil
	}
}
