package podvalidation

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A request of three megabytes has room for as many constraints.
func TestManyTopologySpreadConstraints(t *testing.T) {
	spec := &corev1.PodSpec{TopologySpreadConstraints: make([]corev1.TopologySpreadConstraint, 100_000)}
	for i := range spec.TopologySpreadConstraints {
		spec.TopologySpreadConstraints[i] = corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: "zone" + strconv.Itoa(i), WhenUnsatisfiable: corev1.DoNotSchedule}
	}
	spec.TopologySpreadConstraints[2].TopologyKey = "zone1"
	v := &checker{spec: spec}
	start := time.Now()
	v.scheduling(field.NewPath("spec"))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("validation took %v", took)
	}
	const path = "spec.topologySpreadConstraints[1].{topologyKey, whenUnsatisfiable}"
	if len(v.Errors) != 1 || v.Errors[0].Field != path || v.Errors[0].Type != field.ErrorTypeDuplicate {
		t.Errorf("got %v, want a duplicate at %s alone", v.Errors, path)
	}
}
