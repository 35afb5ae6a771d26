package policy

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestSpecsAreCompiledOnce counts compilations while a policy changes.
func TestSpecsAreCompiledOnce(t *testing.T) {
	type policy = *admissionv1.ValidatingAdmissionPolicy
	compiled := 0
	compile := func(policy) (int, error) { compiled++; return compiled, nil }
	var known map[policy]int
	for i, step := range []struct {
		uid        types.UID
		generation int64
		want       int
	}{
		{"a", 1, 1}, {"a", 1, 1}, {"a", 2, 2}, {"b", 2, 3}, {"", 0, 4}, {"", 0, 5},
	} {
		p := &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "p", UID: step.uid, Generation: step.generation}}
		known, _ = update(known, []policy{p}, compile)
		if known[p] != step.want || compiled != step.want || len(known) != 1 {
			t.Errorf("step %d: %v after %d compilations, want %d", i, known, compiled, step.want)
		}
	}
}
