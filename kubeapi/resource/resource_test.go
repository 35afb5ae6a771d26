package resource

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"triplane/kubeapi/group"
	"triplane/kubeapi/kindtest"
)

// on are the features that are on by default.
var on = features{partitions: true, taints: true, consumable: true, bindingConditions: true, deviceStatus: true, extended: true}

func TestDeclared(t *testing.T) {
	kindtest.Declared(t, deviceClassKind(on), "deviceclasses deviceclass DeviceClass cluster")
	kindtest.Declared(t, resourceClaimKind(group.NewStores(), on), "resourceclaims resourceclaim ResourceClaim namespaced status")
	kindtest.Declared(t, claimTemplateKind(group.NewStores(), on), "resourceclaimtemplates resourceclaimtemplate ResourceClaimTemplate namespaced")
	kindtest.Declared(t, resourceSliceKind(on), "resourceslices resourceslice ResourceSlice cluster")
}

func TestClaim(t *testing.T) {
	k := resourceClaimKind(group.NewStores(), on)
	c := kindtest.New(t, k, "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}")
	if r := c.Spec.Devices.Requests[0].Exactly; r.AllocationMode != "ExactCount" || r.Count != 1 {
		t.Errorf("unexpected defaults %+v", r)
	}
	kindtest.Refused(t, k, "spec: {devices: {requests: [{name: r}], constraints: [{requests: [q], matchAttribute: numa}]}}",
		"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
		`spec.devices.constraints[0].requests[0]: Invalid value: "q": `+mustNameARequest,
		`spec.devices.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain and a name separated by a slash`)
}

func TestSlice(t *testing.T) {
	kindtest.Refused(t, resourceSliceKind(on), "spec: {allNodes: false}", "spec.driver: Required value", "spec.pool.name: Required value",
		"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
		"spec.allNodes: Invalid value: false: must be either unset or set to true",
		"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required")
}

func TestDisabled(t *testing.T) {
	device := resourcev1.Device{
		Taints: []resourcev1.DeviceTaint{{}}, AllowMultipleAllocations: ptr.To(true), BindsToNode: ptr.To(true), AllNodes: ptr.To(true),
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": {RequestPolicy: &resourcev1.CapacityRequestPolicy{}}},
	}
	full := resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{device}, PerDeviceNodeSelection: ptr.To(true)}
	for _, tt := range []struct {
		name string
		f    features
		old  resourcev1.ResourceSliceSpec
		kept bool
	}{
		{"off", features{}, resourcev1.ResourceSliceSpec{}, false},
		{"on", on, resourcev1.ResourceSliceSpec{}, true},
		{"in use", features{}, full, true},
	} {
		s := full.DeepCopy()
		tt.f.dropFromSlice(s, &tt.old)
		d := s.Devices[0]
		for _, kept := range []bool{d.Taints != nil, d.AllowMultipleAllocations != nil, d.BindsToNode != nil, d.AllNodes != nil,
			d.Capacity["m"].RequestPolicy != nil, s.PerDeviceNodeSelection != nil} {
			if kept != tt.kept {
				t.Errorf("%s: %+v", tt.name, s)
			}
		}
	}
	request := &resourcev1.ExactDeviceRequest{Tolerations: []resourcev1.DeviceToleration{{}}, Capacity: &resourcev1.CapacityRequirements{}}
	spec := &resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Exactly: request}}}}
	if on.dropFromClaim(spec); request.Tolerations == nil || request.Capacity == nil {
		t.Errorf("features that are on lost %+v", request)
	}
	if (features{}).dropFromClaim(spec); request.Tolerations != nil || request.Capacity != nil {
		t.Errorf("features that are off left %+v", request)
	}
}
