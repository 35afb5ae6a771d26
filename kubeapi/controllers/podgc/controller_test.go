package podgc

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestUnattended(t *testing.T) {
	node := func(name string, ready corev1.ConditionStatus, taint string) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: taint}}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		}
	}
	nodes := []*corev1.Node{
		node("works", corev1.ConditionTrue, corev1.TaintNodeOutOfService), node("silent", corev1.ConditionUnknown, corev1.TaintNodeUnreachable),
		node("down", corev1.ConditionUnknown, corev1.TaintNodeOutOfService),
	}
	var pods []*corev1.Pod
	for _, on := range []string{"works", "silent", "down", "absent", ""} {
		now := metav1.NewTime(time.Unix(1, 0))
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "stays on " + on}, Spec: corev1.PodSpec{NodeName: on}},
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "ends on " + on, DeletionTimestamp: &now}, Spec: corev1.PodSpec{NodeName: on}})
	}
	var got []string
	for _, p := range unattended(pods, nodes) {
		got = append(got, p.Name)
	}
	if want := []string{"ends on down", "ends on "}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
