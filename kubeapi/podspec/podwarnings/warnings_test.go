package podwarnings

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/podspec/podvalidation"
)

func TestTemplateWarnings(t *testing.T) {
	one := func(c corev1.Container) corev1.PodSpec {
		c.Name = "c"
		return corev1.PodSpec{Containers: []corev1.Container{c}}
	}
	negative := int64(-1)
	for _, c := range []struct {
		name        string
		annotations map[string]string
		spec        corev1.PodSpec
		want        []string
	}{
		{name: "nothing", spec: one(corev1.Container{})},
		{
			name: "ports", spec: one(corev1.Container{Ports: []corev1.ContainerPort{
				{ContainerPort: 80, Protocol: "TCP"}, {ContainerPort: 80, Protocol: "TCP"}, {ContainerPort: 80, Protocol: "UDP"},
				{ContainerPort: 80, Protocol: "TCP", HostPort: 1}, {ContainerPort: 80, Protocol: "TCP", HostPort: 1, HostIP: "1.2.3.4"},
			}}),
			want: []string{
				"t.spec.containers[0].ports[1]: duplicate port definition with t.spec.containers[0].ports[0]",
				"t.spec.containers[0].ports[3]: overlapping port definition with t.spec.containers[0].ports[0]",
				"t.spec.containers[0].ports[3]: overlapping port definition with t.spec.containers[0].ports[1]",
				"t.spec.containers[0].ports[4]: overlapping port definition with t.spec.containers[0].ports[0]",
				"t.spec.containers[0].ports[4]: overlapping port definition with t.spec.containers[0].ports[1]",
				"t.spec.containers[0].ports[4]: dangerously ambiguous port definition with t.spec.containers[0].ports[3]",
			},
		},
		{
			name: "variables", spec: one(corev1.Container{Env: []corev1.EnvVar{{Name: "A"}, {Name: "A", Value: "$(A):x"}, {Name: "A"}}}),
			want: []string{`t.spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply`},
		},
		{
			name: "annotations", spec: one(corev1.Container{}),
			annotations: map[string]string{podspec.AppArmorPrefix + "c": "unconfined", "scheduler.alpha.kubernetes.io/critical-pod": ""},
			want: []string{
				`t.metadata.annotations[container.apparmor.security.beta.kubernetes.io/c]: deprecated since v1.30; use the "appArmorProfile" field instead`,
				`t.metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead`,
			},
		},
		{
			name: "volumes", spec: corev1.PodSpec{TerminationGracePeriodSeconds: &negative, Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{}, {Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Items: []corev1.KeyToPath{{Path: "a/b"}}}},
					{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "a"}},
				}},
			}}}},
			want: []string{
				"t.spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1",
				`volume "v" (Projected) has no sources provided`,
				`volume "v" (Projected): overlapping paths: "a" (ServiceAccountToken) with "a/b" (Secret "s")`,
			},
		},
		{
			name: "placement", spec: corev1.PodSpec{
				NodeSelector:              map[string]string{"beta.kubernetes.io/os": "linux"},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{TopologyKey: "beta.kubernetes.io/arch", LabelSelector: &metav1.LabelSelector{}}},
				Affinity:                  &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{}}}},
			},
			want: []string{
				"t.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
				`t.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`,
				`t.spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/arch is deprecated since v1.14; use "kubernetes.io/arch" instead`,
			},
		},
	} {
		got := Template(&corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: c.annotations}, Spec: c.spec}, field.NewPath("t"))
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

func TestPodsOfAnOperatingSystem(t *testing.T) {
	yes, user := true, "a/b"
	windows := &corev1.WindowsSecurityContextOptions{HostProcess: &yes, RunAsUserName: &user}
	for _, c := range []struct {
		name string
		spec corev1.PodSpec
		want []string
	}{
		{"linux with windows options", corev1.PodSpec{OS: &corev1.PodOS{Name: "linux"}, HostNetwork: true, SecurityContext: &corev1.PodSecurityContext{WindowsOptions: &corev1.WindowsSecurityContextOptions{}}},
			[]string{"spec.securityContext.windowsOptions"}},
		{"windows with linux options", corev1.PodSpec{OS: &corev1.PodOS{Name: "windows"}, HostPID: true, SecurityContext: &corev1.PodSecurityContext{FSGroup: new(int64)}},
			[]string{"spec.securityContext.fsGroup", "spec.hostPID"}},
		{"host process", corev1.PodSpec{SecurityContext: &corev1.PodSecurityContext{WindowsOptions: windows}},
			[]string{"spec.securityContext.windowsOptions.runAsUserName", "spec.hostNetwork"}},
		{"unknown", corev1.PodSpec{OS: &corev1.PodOS{Name: "plan9"}}, []string{"spec.os"}},
	} {
		c.spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		podspec.DefaultPodSpec(&c.spec)
		var got []string
		for _, e := range podvalidation.PodSpec(podspec.Options{}, &c.spec, field.NewPath("spec")) {
			got = append(got, e.Field)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
