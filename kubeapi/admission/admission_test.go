package admission

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/guard/admission"
)

func podCreate(p *corev1.Pod) *admission.Attributes {
	return &admission.Attributes{Operation: admission.Create, Object: p,
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}}
}

func TestTolerationsAreAddedOnce(t *testing.T) {
	p := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: []corev1.Toleration{{Key: corev1.TaintNodeNotReady,
		Operator: corev1.TolerationOpExists}}}}
	for range 2 {
		if err := (tolerationSeconds{DefaultTolerationOptions()}).Admit(context.Background(),
			podCreate(p)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.Spec.Tolerations); n != 2 {
		t.Fatalf("%d tolerations, want 2", n)
	}
}

func TestTokenIsMountedWhereNothingIs(t *testing.T) {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{
		{Name: "a"}, {Name: "b", VolumeMounts: []corev1.VolumeMount{{Name: "own", MountPath: tokenMountPath}}},
	}}}
	mountToken(p)
	if len(p.Spec.Volumes) != 1 || p.Spec.Containers[0].VolumeMounts[0].Name != p.Spec.Volumes[0].Name {
		t.Fatalf("%+v", p.Spec)
	}
	if len(p.Spec.Containers[1].VolumeMounts) != 1 {
		t.Fatal("a second mount at the same place")
	}
}

func TestLimitRangeBounds(t *testing.T) {
	cpu := func(v string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(v)}
	}
	it := &corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Min: cpu("100m"), Max: cpu("2"),
		MaxLimitRequestRatio: cpu("4")}
	for _, c := range []struct {
		name             string
		requests, limits corev1.ResourceList
		want             []string
	}{
		{"fits", cpu("500m"), cpu("1"), nil},
		{"too much", cpu("1"), cpu("3"), []string{"maximum cpu usage per Container is 2, but limit is 3"}},
		{"too little", cpu("50m"), cpu("500m"), []string{
			"minimum cpu usage per Container is 100m, but request is 50m",
			"cpu max limit to request ratio per Container is 4, but provided ratio is 10.000000",
		}},
	} {
		errs := bounds(it, c.requests, c.limits)
		if len(errs) != len(c.want) {
			t.Errorf("%s: %v", c.name, errs)
			continue
		}
		for i := range errs {
			if errs[i].Error() != c.want[i] {
				t.Errorf("%s: %q, want %q", c.name, errs[i], c.want[i])
			}
		}
	}
}
