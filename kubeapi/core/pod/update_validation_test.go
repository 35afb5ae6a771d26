package pod

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/podspec"
)

// Requests of a few megabytes have room for lists as long as these.
func TestUpdatesOfLongLists(t *testing.T) {
	const n = 100_000
	p, old := &corev1.Pod{}, &corev1.Pod{}
	for i := range n {
		name := "a" + strconv.Itoa(i)
		p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		old.Spec.Tolerations = append(old.Spec.Tolerations, corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists})
	}
	start := time.Now()
	if errs := removedGates(p, old, field.NewPath("spec")); len(errs) != n {
		t.Errorf("%d new gates are refused, want %d", len(errs), n)
	}
	if errs := addedTolerations(podspec.Options{}, old.Spec.Tolerations, old.Spec.Tolerations, field.NewPath("spec")); len(errs) > 0 {
		t.Errorf("tolerations that stay are refused: %v", errs[0])
	}
	var containers []corev1.Container
	for i := range n {
		name := "c" + strconv.Itoa(i)
		containers = append(containers, corev1.Container{Name: name})
		old.Status.ContainerStatuses = append(old.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}},
			AllocatedResourcesStatus: []corev1.ResourceStatus{{Name: "none"}},
		})
	}
	takeResources(containers, containers)
	old.Spec.Containers, p.Spec.Containers = containers, containers
	p.Status = *old.Status.DeepCopy()
	if errs := containersStayEnded(p, old, field.NewPath("status")); len(errs) > 0 {
		t.Errorf("containers that stay ended are refused: %v", errs[0])
	}
	if errs := containerStatuses(p, field.NewPath("status")); len(errs) != n {
		t.Errorf("%d errors of devices, want %d", len(errs), n)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("validation took %v", took)
	}
}

// TestUnchangedSpec changes the metadata of a pod that an older release stored, whose spec is not valid any more.
func TestUnchangedSpec(t *testing.T) {
	old := &corev1.Pod{Spec: corev1.PodSpec{DNSPolicy: "Former", Containers: []corev1.Container{{Name: "Not_Valid"}}}}
	now := old.DeepCopy()
	now.Labels = map[string]string{"a": "b"}
	if errs := validateUpdate(podspec.Options{}, now, old); len(errs) > 0 {
		t.Errorf("labels cannot change: %v", errs)
	}
	now.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	if errs := validateUpdate(podspec.Options{}, now, old); len(errs) != 3 {
		t.Errorf("of an annotation that may not be added: %v", errs)
	}
	now = old.DeepCopy()
	now.Spec.Containers[0].Image = "i"
	if errs := validateUpdate(podspec.Options{}, now, old); len(errs) < 2 {
		t.Errorf("of a spec that changes: %v", errs)
	}
}
