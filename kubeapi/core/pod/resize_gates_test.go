package pod

import (
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
