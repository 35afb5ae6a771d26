package object

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestDeepCopySharesNothing(t *testing.T) {
	pod := func() *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"}},
			Spec: corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}, Containers: []corev1.Container{{
				Args: []string{"x"}, Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}},
				ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(1)}}},
			}}},
		}
	}
	original := pod()
	want := original.DeepCopy()
	c := DeepCopy(original)
	if !equality.Semantic.DeepEqual(c, original) {
		t.Errorf("%+v", c)
	}
	c.Labels["a"], c.Finalizers[0], c.Spec.NodeSelector["a"] = "c", "g", "c"
	c.Spec.Containers[0].Args[0] = "y"
	c.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("2")
	c.Spec.Containers[0].ReadinessProbe.HTTPGet.Port = intstr.FromInt32(2)
	if !equality.Semantic.DeepEqual(original, want) {
		t.Errorf("the original was changed: %+v", original)
	}
	tree := &unstructured.Unstructured{Object: map[string]any{"a": []any{map[string]any{"b": "c"}}}}
	other := DeepCopy(tree)
	other.Object["a"].([]any)[0].(map[string]any)["b"] = "d"
	if tree.Object["a"].([]any)[0].(map[string]any)["b"] != "c" {
		t.Error("the tree was changed")
	}
	if DeepCopy[corev1.Pod](nil) != nil {
		t.Error("a copy of nothing")
	}
}
