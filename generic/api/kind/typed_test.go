package kind

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// What Complete does is not known, so that only fields that it names show whether there is something to do.
func TestCompletionDecides(t *testing.T) {
	complete := func(*corev1.Pod) {}
	for name, c := range map[string]struct {
		onRead OnRead[*corev1.Pod]
		want   bool
	}{
		"nothing":     {OnRead[*corev1.Pod]{}, false},
		"completed":   {OnRead[*corev1.Pod]{Complete: complete}, true},
		"with fields": {OnRead[*corev1.Pod]{Complete: complete, Fields: []string{"spec.nodeName"}}, false},
	} {
		if got := c.onRead.decides(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
