package required

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestRequiredFields(t *testing.T) {
	type pod = *corev1.Pod
	fill := func(p pod) {
		if p.Spec.RestartPolicy == "" {
			p.Spec.RestartPolicy = corev1.RestartPolicyAlways
		}
		if p.Spec.SecurityContext == nil {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{}
		}
		if s := p.Spec.SecurityContext; s.SELinuxOptions == nil {
			s.SELinuxOptions = &corev1.SELinuxOptions{User: "u"}
		}
		for i := range p.Spec.Containers {
			c := &p.Spec.Containers[i]
			if c.ImagePullPolicy == "" {
				c.ImagePullPolicy = corev1.PullAlways
			}
			if l := c.LivenessProbe; l != nil && l.PeriodSeconds == 0 {
				l.PeriodSeconds = 10
			}
		}
		for i := range p.Spec.Volumes {
			if s := p.Spec.Volumes[i].Secret; s != nil && s.DefaultMode == nil {
				s.DefaultMode = ptr.To[int32](420)
			}
		}
	}
	empty := func() pod { return &corev1.Pod{} }
	w := Of(empty, fill, nil)
	full := func() pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{LivenessProbe: &corev1.Probe{}}, {}}, Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}}, {VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}}
		fill(p)
		return p
	}
	for name, change := range map[string]func(pod){
		"string": func(p pod) { p.Spec.RestartPolicy = "" },
		"struct": func(p pod) { p.Spec.SecurityContext = nil },
		"nested": func(p pod) { p.Spec.SecurityContext.SELinuxOptions = nil },
		"second": func(p pod) { p.Spec.Containers[1].ImagePullPolicy = "" },
		"number": func(p pod) { p.Spec.Containers[0].LivenessProbe.PeriodSeconds = 0 },
		"inline": func(p pod) { p.Spec.Volumes[0].Secret.DefaultMode = nil },
	} {
		p := full()
		change(p)
		if b, err := p.Marshal(); err != nil || w.Holds(b, false) {
			t.Errorf("%s: what lacks it is whole (%v)", name, err)
		}
	}
	p := full()
	p.Spec.Volumes[0].Secret.DefaultMode = new(int32) // 0 is a value where nil is none
	b, err := p.Marshal()
	if err != nil || !w.Holds(b, false) {
		t.Errorf("what lacks nothing is not whole (%v)", err)
	}
	if n := testing.AllocsPerRun(10, func() { w.Holds(b, false) }); n > 0 {
		t.Errorf("looking allocates %v times", n)
	}
	if w.Holds([]byte{0xff}, false) {
		t.Error("nonsense is whole")
	}
	named := Of(empty, nil, []string{"spec.nodeName"})
	if b, _ := (&corev1.Pod{}).Marshal(); named.Holds(b, false) {
		t.Error("a field that reading fills in is not needed")
	}
}

// What defaults make of an empty list, and of labels.
func TestRequiredListsAndLabels(t *testing.T) {
	type pod = *corev1.Pod
	empty := func() pod { return &corev1.Pod{} }
	w := Of(empty, func(p pod) {
		if s := p.Spec.SecurityContext; s != nil && len(s.Sysctls) == 0 {
			s.Sysctls = []corev1.Sysctl{{Name: "s"}}
		}
	}, nil)
	for _, tt := range []struct {
		context *corev1.PodSecurityContext
		whole   bool
	}{{nil, true}, {&corev1.PodSecurityContext{}, false}, {&corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "s"}}}, true}} {
		b, err := (&corev1.Pod{Spec: corev1.PodSpec{SecurityContext: tt.context}}).Marshal()
		if err != nil || w.Holds(b, false) != tt.whole {
			t.Errorf("%v is whole: %t, %v", tt.context, !tt.whole, err)
		}
	}
	for name, labelled := range map[string]*Fields{
		"by defaults": Of(empty, func(p pod) { p.Labels = map[string]string{"name": p.Name} }, nil),
		"declared":    Of(empty, nil, []string{"metadata.labels"}),
	} {
		if b, _ := empty().Marshal(); !labelled.Labels || labelled.Holds(b, false) {
			t.Errorf("%s: labels are not seen", name)
		}
	}
	if w.Labels {
		t.Error("labels are seen where none are filled in")
	}
}

func BenchmarkRequiredFields(b *testing.B) {
	type pod = *corev1.Pod
	w := Of(func() pod { return &corev1.Pod{} }, func(p pod) {
		for i := range p.Spec.Containers {
			p.Spec.Containers[i].ImagePullPolicy = corev1.PullAlways
		}
	}, nil)
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", ImagePullPolicy: "Always"}}}}
	message, err := p.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		w.Holds(message, false)
	}
}
