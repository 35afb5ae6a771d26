package podspec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestPullPolicyFollowsTheTag(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"nginx": corev1.PullAlways, "nginx:latest": corev1.PullAlways, "nginx:1.27": corev1.PullIfNotPresent,
		"registry.example:5000/a/b": corev1.PullAlways, "registry.example:5000/a/b:v1": corev1.PullIfNotPresent,
		"a@sha256:7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730": corev1.PullIfNotPresent,
		"": corev1.PullIfNotPresent, "Not/Valid": corev1.PullIfNotPresent,
		"a:latest@sha256:7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730": corev1.PullAlways,
		"a:latest@sha256:7d865e959b2466918c9863afca942d0f":                                 corev1.PullIfNotPresent,
		// The identifier of an image, not a name.
		"7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730": corev1.PullIfNotPresent,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%q: %s, want %s", image, got, want)
		}
	}
}

func TestFormerAnnotationsAreDropped(t *testing.T) {
	sent := map[string]string{"pod.alpha.kubernetes.io/init-containers": "[]", "pod.beta.kubernetes.io/init-containers": "x",
		"pod.beta.kubernetes.io/init-container-statuses": "", "other": "1"}
	pod, template := &corev1.Pod{}, &corev1.PodTemplateSpec{}
	pod.Annotations, template.Annotations = sent, sent
	DefaultPod(pod)
	Default(template)
	for of, got := range map[string]map[string]string{"a pod": pod.Annotations, "a template": template.Annotations} {
		if len(got) != 1 || got["other"] != "1" {
			t.Errorf("%s has %v", of, got)
		}
	}
	if len(sent) != 4 {
		t.Errorf("the map of the caller has %v", sent)
	}
}

func list(cpu, memory string) corev1.ResourceList {
	l := corev1.ResourceList{}
	if cpu != "" {
		l[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		l[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return l
}

func TestQOSClass(t *testing.T) {
	for _, c := range []struct {
		name             string
		requests, limits corev1.ResourceList
		want             corev1.PodQOSClass
	}{
		{"nothing", nil, nil, corev1.PodQOSBestEffort},
		{"request alone", list("1", ""), nil, corev1.PodQOSBurstable},
		{"all equal", list("1", "1Gi"), list("1", "1Gi"), corev1.PodQOSGuaranteed},
		{"request below limit", list("1", "1Gi"), list("2", "1Gi"), corev1.PodQOSBurstable},
		{"memory unlimited", list("1", ""), list("1", ""), corev1.PodQOSBurstable},
	} {
		s := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: c.requests, Limits: c.limits}}}}
		if got := QOSClass(s); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestInitContainersNeedTheMostOfAny(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	req := func(cpu string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: list(cpu, "")}
	}
	s := &corev1.PodSpec{
		InitContainers: []corev1.Container{{Resources: req("1"), RestartPolicy: &always}, {Resources: req("4")}},
		Containers:     []corev1.Container{{Resources: req("2")}},
	}
	if q := Requests(s)[corev1.ResourceCPU]; q.String() != "5" {
		t.Errorf("requests %s, want 5", q.String())
	}
}
