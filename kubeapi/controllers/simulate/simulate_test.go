package simulate

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestRanges(t *testing.T) {
	for want, numbers := range map[string][]int{"": nil, "3": {3}, "0,1": {0, 1}, "0-2,4,6,7": {0, 1, 2, 4, 6, 7}} {
		if got := ranges(numbers); got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}

func TestSameTemplate(t *testing.T) {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}}
	hash, err := hashOf(&template, nil)
	if err != nil {
		t.Fatal(err)
	}
	collisions := int32(1)
	if other, err := hashOf(&template, &collisions); err != nil || other == hash {
		t.Errorf("the hash after a collision is %s, %v", other, err)
	}
	of := template
	of.Labels = withHash(template.Labels, hash)
	if !sameTemplate(&of, &template) {
		t.Error("the label of the hash is a difference")
	}
	of.Spec.HostNetwork = true
	if sameTemplate(&of, &template) {
		t.Error("another spec is the same")
	}
}

func TestFence(t *testing.T) {
	quarter, zero, ten := intstr.FromString("25%"), intstr.FromInt32(0), intstr.FromInt32(10)
	for name, c := range map[string]struct {
		replicas           int32
		surge, unavailable *intstr.IntOrString
		more, fewer        int32
	}{
		"default":   {4, &quarter, &quarter, 1, 1},
		"one":       {1, &quarter, &quarter, 1, 0},
		"both zero": {3, &zero, &zero, 0, 1},
		"too many":  {3, &zero, &ten, 0, 3},
		"none":      {3, nil, nil, 0, 1},
	} {
		d := &appsv1.Deployment{}
		d.Spec.Replicas = &c.replicas
		d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: c.surge, MaxUnavailable: c.unavailable}
		r := &rollout{Deployment: d}
		if more, fewer := r.fence(); more != c.more || fewer != c.fewer {
			t.Errorf("%s: %d and %d, want %d and %d", name, more, fewer, c.more, c.fewer)
		}
	}
}

// A pod is available when it has been ready for minReadySeconds.
func TestCount(t *testing.T) {
	pod := func(age time.Duration, status corev1.ConditionStatus) *corev1.Pod {
		p := &corev1.Pod{}
		setCondition(p, corev1.PodReady, status, metav1.NewTime(time.Now().Add(-age)))
		return p
	}
	pods := []*corev1.Pod{pod(time.Minute, corev1.ConditionTrue), pod(0, corev1.ConditionTrue),
		pod(time.Minute, corev1.ConditionFalse), {}}
	if n := count(pods, 0); n.ready != 2 || n.available != 2 || n.next != 0 {
		t.Errorf("%+v", n)
	}
	if n := count(pods, 30); n.ready != 2 || n.available != 1 || n.next <= 0 || n.next > 30*time.Second {
		t.Errorf("%+v", n)
	}
}

// A pod runs, waits for its readiness gate, and ends.
func TestPhases(t *testing.T) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "gate"}}
	run(p, metav1.Now())
	if p.Status.Phase != corev1.PodRunning || isReady(p) {
		t.Errorf("with a gate: %+v", p.Status)
	}
	setCondition(p, "gate", corev1.ConditionTrue, metav1.Now())
	if !gatesPass(p) {
		t.Error("the gate does not pass")
	}
	end(p, corev1.PodFailed, metav1.Now())
	if c := p.Status.ContainerStatuses[0]; p.Status.Phase != corev1.PodFailed || c.State.Terminated.ExitCode != 1 || c.State.Running != nil {
		t.Errorf("after the end: %+v", p.Status)
	}
}

// A failed index is run again, one that has succeeded is not.
func TestFreeIndexes(t *testing.T) {
	indexed, completions := batchv1.IndexedCompletion, int32(4)
	job := &batchv1.Job{Spec: batchv1.JobSpec{CompletionMode: &indexed, Completions: &completions}}
	pod := func(index string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: index}},
			Status: corev1.PodStatus{Phase: phase}}
	}
	r := sortRuns(job, []*corev1.Pod{pod("0", corev1.PodSucceeded), pod("1", corev1.PodFailed), pod("2", corev1.PodRunning)})
	if free := r.free(); len(free) != 2 || free[0] != 1 || free[1] != 3 {
		t.Errorf("%v", free)
	}
	if r.done() != 1 || r.complete() {
		t.Errorf("%d of %d are done", r.done(), completions)
	}
}
