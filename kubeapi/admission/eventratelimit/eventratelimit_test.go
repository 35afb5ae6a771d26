package eventratelimit

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/guard/admission"
)

func TestEventsBeyondTheLimit(t *testing.T) {
	plugin, err := New([]byte(`{apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration,
limits: [{type: Namespace, qps: 1, burst: 2}, {type: SourceAndObject, qps: 1, burst: 1, cacheSize: 2}]}`))
	if err != nil {
		t.Fatal(err)
	}
	event := func(namespace, object string) error {
		e := &corev1.Event{InvolvedObject: corev1.ObjectReference{Name: object}}
		return plugin.Validate(t.Context(),
			&admission.Attributes{Operation: admission.Create, Object: e, Namespace: namespace})
	}
	for _, c := range []struct{ namespace, object, want string }{
		{"a", "x", "limit reached on type SourceAndObject for key x"},
		{"a", "y", "limit reached on type Namespace for key a"},
	} {
		// At some rate tokens are used faster than they are refilled.
		refused := false
		for range 10000 {
			if err := event(c.namespace, c.object); err != nil && strings.Contains(err.Error(), c.want) {
				refused = true
				break
			}
		}
		if !refused {
			t.Errorf("%s/%s is never refused", c.namespace, c.object)
		}
	}
	if err := event("b", "z"); err != nil {
		t.Errorf("others are refused: %v", err)
	}
}
