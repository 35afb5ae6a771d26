package specdiff

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestInternalForm(t *testing.T) {
	for _, c := range []struct {
		name  string
		value any
		want  []string
	}{
		{"fields", corev1.PodIP{IP: "a"}, []string{`{"IP":"a"}`}},
		{"embedded", corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "n"}, Key: "k"}, []string{`{"Name":"n","Key":"k","Optional":null}`}},
		{"metadata among the fields", corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}, []string{`{"labels":{"a":"b"},"Spec":{"Volumes":null,`}},
		{"no metadata", corev1.PodTemplateSpec{}, []string{`{"Spec":{`}},
		{"order", corev1.PodSpec{HostNetwork: true, NodeName: "n", SecurityContext: &corev1.PodSecurityContext{}},
			[]string{`"NodeName":"n","HostNetwork":true,"HostPID":false,"HostIPC":false,"ShareProcessNamespace":null,"SecurityContext":{"SELinuxOptions":null,`}},
		{"none", corev1.PodSpec{}, []string{`"SecurityContext":null`}},
	} {
		raw, err := json.Marshal(internal{c.value})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(raw), want) {
				t.Errorf("%s: no %s in %s", c.name, want, raw)
			}
		}
	}
}
