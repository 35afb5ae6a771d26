package pod

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestInitContainersMayBeFixed(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	asking := func(cpu string, policy *corev1.ContainerRestartPolicy) []corev1.Container {
		return []corev1.Container{{Name: "i", RestartPolicy: policy, Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}}
	}
	for _, c := range []struct {
		now    string
		policy *corev1.ContainerRestartPolicy
		want   int
	}{{"1", nil, 0}, {"2", nil, 1}, {"2", &always, 0}} {
		errs := fixedInitContainers(asking(c.now, c.policy), asking("1", c.policy), field.NewPath("spec"))
		if len(errs) != c.want {
			t.Errorf("%+v: %v", c, errs)
		}
	}
}

func TestVolumesInMemoryMayBeResized(t *testing.T) {
	volume := func(name string, medium corev1.StorageMedium, limit string) corev1.Volume {
		v := corev1.Volume{Name: name}
		v.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: medium}
		if limit != "" {
			v.EmptyDir.SizeLimit = new(resource.MustParse(limit))
		}
		return v
	}
	const memory = corev1.StorageMediumMemory
	for _, c := range []struct {
		now, before corev1.Volume
		want        string
	}{
		{volume("a", memory, "2Mi"), volume("a", memory, "1Mi"), ""},
		{volume("a", memory, "1024Ki"), volume("a", memory, "1Mi"), ""},
		{volume("a", memory, ""), volume("a", memory, "0"), ""},
		{volume("a", memory, "0"), volume("a", memory, "1Mi"), "adding or removing"},
		{volume("a", "", "1Mi"), volume("a", "", ""), "adding or removing"},
		{volume("a", "", "2Mi"), volume("a", "", "1Mi"), "only mutable for memory-backed"},
		{volume("a", "HugePages", "2Mi"), volume("a", "HugePages", "1Mi"), "only mutable for memory-backed"},
		{volume("a", memory, "1Mi"), volume("a", "", "2Mi"), "only sizeLimit of memory-backed"},
		{corev1.Volume{Name: "a"}, volume("a", memory, "1Mi"), "only sizeLimit of memory-backed"},
		{volume("b", memory, "1Mi"), volume("a", memory, "1Mi"), "renamed or reordered"},
	} {
		errs := validateResizedVolumes([]corev1.Volume{c.now}, []corev1.Volume{c.before}, field.NewPath("spec", "volumes"))
		if (c.want == "") != (len(errs) == 0) || c.want != "" && !strings.Contains(errs[0].Error(), c.want) {
			t.Errorf("%+v to %+v: %v, want %q", c.before, c.now, errs, c.want)
		}
	}
	if errs := validateResizedVolumes(nil, []corev1.Volume{volume("a", "", "")}, nil); len(errs) != 1 {
		t.Errorf("a removed volume: %v", errs)
	}
}

func TestClaimsThatWritersDoNotKnowStay(t *testing.T) {
	old := corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpu"}},
		ExtendedResourceClaimStatus: &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: "x"}}
	var s corev1.PodStatus
	keepClaims(&s, &old)
	if len(s.ResourceClaimStatuses) != 1 || s.ExtendedResourceClaimStatus == nil {
		t.Errorf("left out: %+v", s)
	}
	s = corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{}}
	keepClaims(&s, &old)
	if len(s.ResourceClaimStatuses) != 0 {
		t.Errorf("emptied: %+v", s)
	}
}
