package podvalidation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/podspec"
)

func TestPrivilegedContainersNeedPermission(t *testing.T) {
	yes := true
	container := corev1.Container{Name: "c", Image: "i", SecurityContext: &corev1.SecurityContext{Privileged: &yes}}
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container}, InitContainers: []corev1.Container{container}}}
	p.Spec.InitContainers[0].Name = "i"
	podspec.DefaultPod(p)
	const want = "securityContext.privileged: Forbidden: disallowed by cluster policy"
	errs := PodSpec(podspec.Options{}, &p.Spec, field.NewPath("spec"))
	if len(errs) != 2 || !strings.Contains(errs[0].Error(), want) || !strings.Contains(errs[1].Error(), want) {
		t.Errorf("%v", errs)
	}
	if errs := PodSpec(podspec.Options{AllowPrivileged: true}, &p.Spec, field.NewPath("spec")); len(errs) > 0 {
		t.Errorf("where they are allowed: %v", errs)
	}
}
