package openapi

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/api/openapi/models"
)

func TestTypeConverterKnowsListKeys(t *testing.T) {
	c := NewTypeConverter(&models.Source{}, scheme.Scheme)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	v, err := c.ObjectToTyped(pod)
	if err != nil {
		t.Fatal(err)
	}
	set, err := v.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	if want := `.spec.containers[name="c"].image`; !strings.Contains(set.String(), want) {
		t.Errorf("field set %s lacks %s", set, want)
	}
	back, err := c.TypedToObject(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.GetObjectKind().GroupVersionKind().Kind; got != "Pod" {
		t.Errorf("kind %q after the round trip", got)
	}
}

func BenchmarkFirstPod(b *testing.B) {
	for b.Loop() {
		c := NewTypeConverter(&models.Source{}, scheme.Scheme)
		_, err := c.ObjectToTyped(&corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFirstConfigMap(b *testing.B) {
	for b.Loop() {
		c := NewTypeConverter(&models.Source{}, scheme.Scheme)
		_, err := c.ObjectToTyped(&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}})
		if err != nil {
			b.Fatal(err)
		}
	}
}
