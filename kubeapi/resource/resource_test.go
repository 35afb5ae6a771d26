package resource

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/kindtest"
)

func TestClaim(t *testing.T) {
	k := resourceClaimKind(group.NewStores(), nil)
	c := kindtest.New(t, k, "spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}")
	if r := c.Spec.Devices.Requests[0].Exactly; r.AllocationMode != "ExactCount" || r.Count != 1 {
		t.Errorf("unexpected defaults %+v", r)
	}
	kindtest.Refused(t, k, "spec: {devices: {requests: [{name: r}], constraints: [{requests: [q], matchAttribute: numa}]}}",
		"spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required",
		`spec.devices.constraints[0].requests[0]: Invalid value: "q": `+mustNameARequest,
		`spec.devices.constraints[0].matchAttribute: Invalid value: "numa": a fully qualified name must be a domain and a name separated by a slash`)
}

// TestTimeAdded wants a time as storage has it: two writes in one second are no change.
func TestTimeAdded(t *testing.T) {
	s := kindtest.New(t, resourceSliceKind(), "spec: {devices: [{name: d, taints: [{key: k, effect: NoSchedule}]}]}")
	if at := s.Spec.Devices[0].Taints[0].TimeAdded; at == nil || at.Nanosecond() != 0 {
		t.Errorf("added at %v", at)
	}
}

func TestSlice(t *testing.T) {
	kindtest.Refused(t, resourceSliceKind(), "spec: {allNodes: false}", "spec.driver: Required value", "spec.pool.name: Required value",
		"spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero",
		"spec.allNodes: Invalid value: false: must be either unset or set to true",
		"spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required")
}

func TestFieldsOfAlphaGates(t *testing.T) {
	const head = "spec: {driver: d.x, nodeName: n, pool: {name: p, resourceSliceCount: 1}, "
	const typed, counted = "partitionTypeAttribute: d.x/t, devices: [{name: d, ", "consumesCounters: [{counterSet: a, counters: {x: {value: 1}}}]"
	for text, want := range map[string][]string{
		typed + counted + ", attributes: {t: {string: full}}}]}": nil,
		typed + counted + "}]}": {"spec.devices[0].attributes[d.x/t]: Required value: device consumes counters and " +
			"`partitionTypeAttribute` names this attribute, so it must be set"},
		typed + "}]}": {`spec.partitionTypeAttribute: Invalid value: "d.x/t": may only be set on a slice which declares ` +
			"devices that consume counters"},
		"skipNodeOperations: ['*', NodePrepareResources]}": nil,
		"skipNodeOperations: [NodePrepareResources]}": {`spec.skipNodeOperations: Invalid value: ["NodePrepareResources"]: ` +
			"NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped"},
	} {
		kindtest.Refused(t, resourceSliceKind(), head+text, want...)
	}
}

// TestAttributeNames has the words of kube-apiserver for each part of a name.
func TestAttributeNames(t *testing.T) {
	const long, ident = ": Too long: may not be more than 32 bytes", "a valid C identifier must start with"
	for name, want := range map[string][]string{
		"a/b": nil, "a/b/": nil, "A/b": nil, "": {ident},
		"/a": {"the domain must not be empty"}, "a/": {"the name must not be empty"},
		"/":                     {"the domain must not be empty", "the name must not be empty"},
		strings.Repeat("9", 33): {long, ident}, "a/" + strings.Repeat("x", 33): {long},
	} {
		errs := validateQualified(name, field.NewPath("a"))
		if len(errs) != len(want) {
			t.Errorf("%q: %v", name, errs)
			continue
		}
		for i, e := range errs {
			if !strings.Contains(e.Error(), want[i]) {
				t.Errorf("%q: %v, want %s", name, e, want[i])
			}
		}
	}
}
