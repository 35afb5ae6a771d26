package customresource

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestFinalizerWarnings(t *testing.T) {
	o, old := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	old.SetFinalizers([]string{"kept"})
	o.SetFinalizers([]string{"kept", "kubernetes", "example.com/x", "short", "example.com"})
	want := []string{
		`metadata.finalizers: "short": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
		`metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
	}
	if got := finalizerWarnings(t.Context(), o, old); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
