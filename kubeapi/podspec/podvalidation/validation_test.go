package podvalidation

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

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

// TestFieldsOfAlphaGates plays no story: the fields are dropped while their gates are off.
func TestFieldsOfAlphaGates(t *testing.T) {
	const head, probe = "containers: [{name: c, image: i, ", "livenessProbe: {httpGet: {port: 1, protocol: "
	for text, want := range map[string]string{
		head + "lifecycle: {stopSignal: SIGTERM}}]":                        "containers[0].lifecycle.stopSignal: Forbidden: may not be set for containers with empty `spec.os.name`",
		head + "lifecycle: {stopSignal: SIGRTMIN+15}}]\nos: {name: linux}": "",
		head + "lifecycle: {stopSignal: SIGRTMIN+16}}]\nos: {name: linux}": `containers[0].lifecycle.stopSignal: Unsupported value: "SIGRTMIN+16": ` +
			`supported values: "SIGABRT", "SIGALRM", `,
		head + "lifecycle: {stopSignal: SIGHUP}}]\nos: {name: windows}": `containers[0].lifecycle.stopSignal: Unsupported value: "SIGHUP": supported values: "SIGKILL", "SIGTERM"`,
		head + probe + "H2C}}}]": `containers[0].livenessProbe.httpGet.protocol: Unsupported value: ` +
			`"H2C": supported values: "HTTP1", "HTTP2"`,
		head + probe + "HTTP2, scheme: HTTPS}}}]":                                `containers[0].livenessProbe.httpGet.protocol: Invalid value: "HTTP2": is only supported with HTTP (H2C)`,
		head + probe + "HTTP2}}}]":                                               "",
		head + "livenessProbe: {grpc: {port: 1, mode: tls}}}]":                   `containers[0].livenessProbe.grpc.mode: Unsupported value: "tls": supported values: "Plaintext", "TLS"`,
		head + "}]\nvolumes: [{name: v, emptyDir: {mode: 1023}}]":                "",
		head + "}]\nvolumes: [{name: v, emptyDir: {mode: 1024}}]":                "volumes[0].emptyDir.mode: Invalid value: 1024: must be a number between 0 and 01777 (octal), both inclusive",
		head + "}]\nvolumes: [{name: v, configMap: {name: a, defaultUser: -1}}]": "volumes[0].configMap.defaultUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
		head + "}]\nvolumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: p, user: -1}}]}}]": "volumes[0].projected.sources[0].serviceAccountToken.user: Invalid value: -1: " +
			"must be between 0 and 2147483647, inclusive",
		head + "volumeMounts: [{name: v, mountPath: /v, bindMountOptions: [ro]}]}]\nvolumes: [{name: v}]": `containers[0].volumeMounts[0].bindMountOptions[0]: Unsupported value: ` +
			`"ro": supported values: "nodev", "noexec", "nosuid"`,
		head + "volumeMounts: [{name: v, mountPath: /v, bindMountOptions: [nodev, nodev]}]}]\nvolumes: [{name: v}]":                 `containers[0].volumeMounts[0].bindMountOptions[1]: Duplicate value: "nodev"`,
		head + "volumeMounts: [{name: v, mountPath: /v, bindMountOptions: [nodev]}]}]\nvolumes: [{name: v, image: {reference: i}}]": "bindMountOptions may not be used with image volumes",
		head + "}]\ntolerations: [{key: k, operator: Gt, value: '05'}]":                                                             `tolerations[0].value: Invalid value: "05": must be a valid decimal integer in canonical form`,
		head + "}]\ntolerations: [{key: k, operator: Lt, value: '9999999999999999999'}]": `tolerations[0].value: Invalid value: "9999999999999999999": strconv.ParseInt: ` +
			`parsing "9999999999999999999": value out of range`,
	} {
		p := &corev1.Pod{}
		if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
			t.Fatal(text, err)
		}
		podspec.DefaultPod(p)
		errs := PodSpec(podspec.Options{ComparedTolerations: true}, &p.Spec, nil)
		if want == "" && len(errs) > 0 || want != "" && (len(errs) != 1 || !strings.Contains(errs[0].Error(), want)) {
			t.Errorf("%s: %v, want %q", text, errs, want)
		}
	}
}
