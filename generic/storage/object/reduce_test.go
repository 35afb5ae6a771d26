package object

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestReduceAndComplete(t *testing.T) {
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}}, Status: corev1.PodStatus{Phase: "Running"}}
	reduced, complete := Reduce(pod, func(name string) bool { return name == "status" })
	if want := (&corev1.Pod{TypeMeta: pod.TypeMeta, Status: pod.Status}); !reflect.DeepEqual(reduced, want) {
		t.Errorf("%v, want %v", reduced, want)
	}
	changed := &corev1.Pod{TypeMeta: pod.TypeMeta, Status: corev1.PodStatus{Phase: "Failed"}}
	complete(changed)
	want := pod.DeepCopy()
	want.Status.Phase = "Failed"
	if !reflect.DeepEqual(changed, want) {
		t.Errorf("%v, want %v", changed, want)
	}
	changed.Spec.NodeSelector["a"] = "c"
	if pod.Spec.NodeSelector["a"] != "b" {
		t.Error("the objects share memory")
	}
}

func TestTreesAreNotReduced(t *testing.T) {
	tree := &unstructured.Unstructured{Object: map[string]any{"kind": "A", "spec": map[string]any{}}}
	reduced, complete := Reduce(tree, func(string) bool { return false })
	complete(reduced)
	if reduced != runtime.Object(tree) || len(tree.Object) != 2 {
		t.Errorf("%v", reduced)
	}
}
