package pod

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

func fieldNames(errs field.ErrorList) []string {
	var names []string
	for _, e := range errs {
		names = append(names, e.Field)
	}
	return names
}

func TestPodStatusRules(t *testing.T) {
	terminated := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	state := func(s corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "c", State: s}}}
	}
	for _, c := range []struct {
		name     string
		policy   corev1.RestartPolicy
		node     string
		old, now corev1.PodStatus
		want     []string
	}{
		{name: "fine", now: corev1.PodStatus{PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}}}},
		{name: "two of a family", now: corev1.PodStatus{PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "10.0.0.2"}}}, want: []string{"status.podIPs"}},
		{name: "empty IP", now: corev1.PodStatus{PodIPs: []corev1.PodIP{{}}},
			want: []string{"status.podIPs[0]", "status.podIPs"}},
		{name: "host IP differs", now: corev1.PodStatus{HostIP: "10.0.0.1", HostIPs: []corev1.HostIP{{IP: "10.0.0.2"}}}, want: []string{"status.hostIPs[0].ip"}},
		{name: "never restarts", policy: "Never", old: state(terminated), now: state(running), want: []string{"status.containerStatuses[0].state"}},
		{name: "restarts what failed", policy: "OnFailure", old: state(terminated), now: state(running)},
		{name: "always restarts", policy: "Always", old: state(terminated), now: state(running)},
		{name: "condition", now: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "a b"}}}, want: []string{"status.conditions[0].Type"}},
		{name: "nominated", now: corev1.PodStatus{NominatedNodeName: "n"}},
		{name: "nominated when bound", node: "n", now: corev1.PodStatus{NominatedNodeName: "n"}, want: []string{"status.nominatedNodeName"}},
		{name: "still nominated", node: "n", old: corev1.PodStatus{NominatedNodeName: "m"}, now: corev1.PodStatus{NominatedNodeName: "m"}},
		{name: "not nominated any more", node: "n", old: corev1.PodStatus{NominatedNodeName: "m"}},
		{name: "generation", now: corev1.PodStatus{ObservedGeneration: -1}, want: []string{"status.observedGeneration"}},
		{name: "what a claim takes of the node", now: corev1.PodStatus{NodeAllocatableResourceClaimStatuses: []corev1.NodeAllocatableResourceClaimStatus{
			{Containers: []string{"c", "c"}}, {ResourceClaimName: "x", Mapping: []corev1.NodeAllocatableMappedResources{{Name: "pods"}},
				Overhead: []corev1.NodeAllocatableOverheadResources{{Name: "cpu"}, {Name: "cpu"}}}, {ResourceClaimName: "x"}}}, want: []string{
			"status.nodeAllocatableResourceClaimStatuses[1].resourceClaimName", "status.nodeAllocatableResourceClaimStatuses[1].mapping[0].name",
			"status.nodeAllocatableResourceClaimStatuses[1].overhead[0]", "status.nodeAllocatableResourceClaimStatuses[1].overhead[1]",
			"status.nodeAllocatableResourceClaimStatuses[2].resourceClaimName", "status.nodeAllocatableResourceClaimStatuses[2]",
			"status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName", "status.nodeAllocatableResourceClaimStatuses[0].containers[1]",
			"status.nodeAllocatableResourceClaimStatuses[1].mapping[0].quantity", "status.nodeAllocatableResourceClaimStatuses[1].overhead[1]"}},
		{name: "health of volumes",
			now:  corev1.PodStatus{VolumeHealth: []corev1.PodVolumeHealth{{}, {Name: "x"}, {Name: "x"}}},
			want: []string{"status.volumeHealth[0].name", "status.volumeHealth[1].name", "status.volumeHealth[2]"}},
		{name: "claim", now: corev1.PodStatus{ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "x"}}}, want: []string{"status.resourceClaimStatuses[0].name"}},
	} {
		old := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: c.policy, NodeName: c.node, Containers: []corev1.Container{{Name: "c"}}}, Status: c.old}
		now := old.DeepCopy()
		now.Status = c.now
		if got := fieldNames(validateStatus(check.Addresses{}, now, old)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestGatedPodsArePlacedMoreTightly(t *testing.T) {
	term := func(keys ...string) *corev1.Affinity {
		var n corev1.NodeSelectorTerm
		for _, k := range keys {
			n.MatchExpressions = append(n.MatchExpressions, corev1.NodeSelectorRequirement{Key: k, Operator: "Exists"})
		}
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{n}}}}
	}
	const terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
	for _, c := range []struct {
		name     string
		old, now corev1.PodSpec
		want     []string
	}{
		{name: "first affinity", now: corev1.PodSpec{Affinity: term("a")}},
		{name: "one more", old: corev1.PodSpec{Affinity: term("a")}, now: corev1.PodSpec{Affinity: term("a", "b")}},
		{name: "one less", old: corev1.PodSpec{Affinity: term("a", "b")}, now: corev1.PodSpec{Affinity: term("b")}, want: []string{terms + "[0]"}},
		{name: "gone", old: corev1.PodSpec{Affinity: term("a")}, want: []string{terms}},
		{name: "selector", old: corev1.PodSpec{NodeSelector: map[string]string{"a": "b"}}, want: []string{"spec.nodeSelector"}},
	} {
		old, now := &corev1.Pod{Spec: c.old}, &corev1.Pod{Spec: c.now}
		if got := fieldNames(tighterPlacement(now, old, field.NewPath("spec"))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		s := now.Spec.DeepCopy()
		keepNodeAffinity(s, &old.Spec)
		if was, is := nodeAffinity(&old.Spec), nodeAffinity(s); (was == nil) != (is == nil) {
			t.Errorf("%s: the affinity is not put back", c.name)
		}
	}
}

func TestForbiddenChangesAreShownAsDiff(t *testing.T) {
	old := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	podspec.DefaultPod(old)
	now := old.DeepCopy()
	now.Spec.HostNetwork, now.Spec.Hostname = true, "h"
	errs := otherChanges(now, old, field.NewPath("spec"))
	if len(errs) != 1 {
		t.Fatal(errs)
	}
	for _, want := range []string{"+ \"HostNetwork\": true,\n  \"HostPID\": false,", " \"ImagePullSecrets\": null,\n- \"Hostname\": \"\",\n+ \"Hostname\": \"h\","} {
		if !strings.Contains(errs[0].Detail, want) {
			t.Errorf("no %q in\n%s", want, errs[0].Detail)
		}
	}
}

func TestResizeRules(t *testing.T) {
	cpu := func(v string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(v)}
	}
	old := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: cpu("1"), Limits: cpu("2")},
	}}}}
	podspec.DefaultPod(old)
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod, *corev1.Container)
		want   []string
	}{
		{"more", func(_ *corev1.Pod, c *corev1.Container) { c.Resources.Limits = cpu("3") }, nil},
		{"no limits", func(_ *corev1.Pod, c *corev1.Container) { c.Resources.Limits = nil }, []string{"spec.containers[0].resources.limits"}},
		{"no requests", func(_ *corev1.Pod, c *corev1.Container) { c.Resources.Requests = nil }, []string{"spec.containers[0].resources.requests"}},
		{"policy", func(_ *corev1.Pod, c *corev1.Container) {
			c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: "cpu", RestartPolicy: "RestartContainer"}}
		}, []string{"spec"}},
		{"one more container", func(p *corev1.Pod, c *corev1.Container) { p.Spec.Containers = append(p.Spec.Containers, *c) }, []string{"spec.containers[1].name", "spec.containers"}},
	} {
		now := old.DeepCopy()
		c.change(now, &now.Spec.Containers[0])
		if got := fieldNames(validateResize(podspec.Options{}, now, old)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
