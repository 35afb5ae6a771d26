package customresource

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestFinalizerWarnings(t *testing.T) {
	o := &metav1.ObjectMeta{Finalizers: []string{"kept", "kubernetes", "example.com/x", "short", "example.com"}}
	want := []string{
		`metadata.finalizers: "short": prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers`,
		`metadata.finalizers: "example.com": prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers`,
	}
	if got := finalizerWarnings(o, []string{"kept"}); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
