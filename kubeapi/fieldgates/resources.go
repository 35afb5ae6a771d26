package fieldgates

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// resourceRules are those of resource.k8s.io.
func resourceRules() []rule {
	type (
		device = resourcev1.Device
		result = resourcev1.DeviceRequestAllocationResult
		exact  = resourcev1.ExactDeviceRequest
		sub    = resourcev1.DeviceSubRequest
		slice  = resourcev1.ResourceSliceSpec

		tolerations = []resourcev1.DeviceToleration
		capacity    = *resourcev1.CapacityRequirements
	)
	const admin, consumable, binding, taints, partitions = "DRAAdminAccess", "DRAConsumableCapacity",
		"DRADeviceBindingConditions", "DRADeviceTaints", "DRAPartitionableDevices"
	return []rule{
		field(admin, func(r *exact) **bool { return &r.AdminAccess }),
		field(admin, func(r *result) **bool { return &r.AdminAccess }),
		field("DRAPrioritizedList", func(r *resourcev1.DeviceRequest) *[]sub { return &r.FirstAvailable }),
		field("DRAExtendedResource", func(s *resourcev1.DeviceClassSpec) **string { return &s.ExtendedResourceName }),
		field("DRAResourceClaimDeviceStatus", func(
			s *resourcev1.ResourceClaimStatus) *[]resourcev1.AllocatedDeviceStatus {
			return &s.Devices
		}),
		field("DRANodeAllocatableResources", func(
			d *device) *map[corev1.ResourceName]resourcev1.NodeAllocatableResourceMapping {
			return &d.NodeAllocatableResourceMappings
		}),
		part("DRAListTypeAttributes",
			func(a *resourcev1.DeviceAttribute) bool {
				return a.IntValues != nil || a.BoolValues != nil || a.StringValues != nil || a.VersionValues != nil
			},
			func(a *resourcev1.DeviceAttribute) {
				a.IntValues, a.BoolValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
			}),

		field(consumable, func(d *device) **bool { return &d.AllowMultipleAllocations }),
		field(consumable, func(c *resourcev1.DeviceCapacity) **resourcev1.CapacityRequestPolicy { return &c.RequestPolicy }),
		field(consumable, func(c *resourcev1.DeviceConstraint) **resourcev1.FullyQualifiedName { return &c.DistinctAttribute }),
		field(consumable, func(r *exact) *capacity { return &r.Capacity }),
		field(consumable, func(r *sub) *capacity { return &r.Capacity }),
		field(consumable, func(r *result) **types.UID { return &r.ShareID }),

		field(binding, func(d *device) **bool { return &d.BindsToNode }),
		field(binding, func(d *device) *[]string { return &d.BindingConditions }),
		field(binding, func(d *device) *[]string { return &d.BindingFailureConditions }),
		field(binding, func(r *result) *[]string { return &r.BindingConditions }),
		field(binding, func(r *result) *[]string { return &r.BindingFailureConditions }),

		field(taints, func(d *device) *[]resourcev1.DeviceTaint { return &d.Taints }),
		field(taints, func(r *exact) *tolerations { return &r.Tolerations }),
		field(taints, func(r *sub) *tolerations { return &r.Tolerations }),
		field(taints, func(r *result) *tolerations { return &r.Tolerations }),

		field(partitions, func(d *device) *[]resourcev1.DeviceCounterConsumption { return &d.ConsumesCounters }),
		field(partitions, func(d *device) **string { return &d.NodeName }),
		field(partitions, func(d *device) **corev1.NodeSelector { return &d.NodeSelector }),
		field(partitions, func(d *device) **bool { return &d.AllNodes }),
		field(partitions, func(s *slice) *[]resourcev1.CounterSet { return &s.SharedCounters }),
		field(partitions, func(s *slice) **bool { return &s.PerDeviceNodeSelection }),
	}
}
