package resource

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func TestDerivedAttributes(t *testing.T) {
	const unused, typed = "must be referenced by at least one", "must evaluate to a primitive scalar"
	costly := "device.attributes.all(z,device.attributes.all(w,device.attributes.all(v,device.attributes.all(u,v==w))))"
	for _, c := range []struct {
		expression string
		requests   []string // of the constraint
		want       string
	}{
		{"device.driver", nil, ""}, {"[1,2]", []string{"r"}, ""}, {"[]", []string{"r/s"}, ""}, {`[semver("1.0.0")]`, nil, ""},
		{`device.attributes["a"].b`, nil, ""}, {"dyn(1)", nil, ""}, {"true", []string{"q", "r"}, ""},
		{"true", []string{"q"}, unused}, {"true", []string{"r/t"}, unused},
		{"1.5", nil, typed}, {"1u", nil, typed}, {"[[1]]", nil, typed}, {"device", nil, typed}, {"null", nil, typed},
		{"(", nil, "compilation failed"}, {strings.Repeat("x", maxExpression+1), nil, "may not be more than"},
		{costly, nil, "exceeds cost limit"},
	} {
		d := &derivedAttributes{constraints: []resourcev1.DeviceConstraint{
			{Requests: c.requests, MatchAttribute: ptr.To[resourcev1.FullyQualifiedName]("derived/x")}}}
		errs := d.validate([]resourcev1.DeviceDerivedAttribute{{Name: "derived/x", Expression: c.expression}}, field.NewPath("a"), "r", "r/s")
		switch {
		case c.want == "" && len(errs) > 0:
			t.Errorf("%s: %v", c.expression, errs)
		case c.want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.expression, errs, c.want)
		}
		if total := d.total(field.NewPath("d")); (len(total) > 0) != (c.expression == costly) {
			t.Errorf("%s: %v", c.expression, total)
		}
	}
}

func TestNodeAllocatable(t *testing.T) {
	path := field.NewPath("n")
	one, none, less := quantityOf("1"), quantityOf("0"), quantityOf("-1")
	key := func(s string) *resourcev1.QualifiedName { return ptr.To(resourcev1.QualifiedName(s)) }
	for _, c := range []struct {
		name string
		r    resourcev1.NodeAllocatableResource
		want string
	}{
		{"cpu", resourcev1.NodeAllocatableResource{}, "n[cpu]: Required value: at least one of mapping or overhead must be set"},
		{"pods", resourcev1.NodeAllocatableResource{Overhead: &resourcev1.NodeAllocatableOverhead{PerPod: one}},
			`n[pods]: Invalid value: "pods": must be a node allocatable resource name`},
		{"hugepages-2Mi", resourcev1.NodeAllocatableResource{Overhead: &resourcev1.NodeAllocatableOverhead{PerContainer: none}}, ""},
		{"cpu", resourcev1.NodeAllocatableResource{Overhead: &resourcev1.NodeAllocatableOverhead{}},
			`n[cpu].overhead: Invalid value: "": at least one of perPod or perContainer must be set`},
		{"cpu", resourcev1.NodeAllocatableResource{Overhead: &resourcev1.NodeAllocatableOverhead{PerPod: less}},
			`n[cpu].overhead.perPod: Invalid value: "-1": must be non-negative`},
		{"memory", resourcev1.NodeAllocatableResource{Mapping: &resourcev1.NodeAllocatableMapping{DeviceMultiplier: none}},
			`n[memory].mapping.deviceMultiplier: Invalid value: "0": must be positive`},
		{"memory", resourcev1.NodeAllocatableResource{Mapping: &resourcev1.NodeAllocatableMapping{CapacityKey: key("c"), CapacityMultiplier: one}}, ""},
		{"memory", resourcev1.NodeAllocatableResource{Mapping: &resourcev1.NodeAllocatableMapping{CapacityKey: key("z"), CapacityMultiplier: one}},
			`n[memory].mapping.capacityKey: Not found: "z"`},
		{"memory", resourcev1.NodeAllocatableResource{Mapping: &resourcev1.NodeAllocatableMapping{CapacityKey: key("c")}},
			"n[memory].mapping.capacityMultiplier: Required value: capacityMultiplier is required when capacityKey is set"},
		{"memory", resourcev1.NodeAllocatableResource{Mapping: &resourcev1.NodeAllocatableMapping{CapacityMultiplier: one}},
			"n[memory].mapping.capacityKey: Required value: capacityKey is required when capacityMultiplier is set"},
	} {
		d := &resourcev1.Device{Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"c": {}},
			NodeAllocatableResources: map[corev1.ResourceName]resourcev1.NodeAllocatableResource{corev1.ResourceName(c.name): c.r}}
		var got []string
		for _, e := range validateNodeAllocatable(d, path) {
			got = append(got, e.Error())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%v: %q, want %q", c.r, got, c.want)
		}
	}
}

func quantityOf(text string) *resource.Quantity { return ptr.To(resource.MustParse(text)) }
