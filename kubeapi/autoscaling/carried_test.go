package autoscaling

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
)

// An annotation that cannot be read says nothing, and one whose quantities have endless exponents is not read.
func TestCarried(t *testing.T) {
	for text, want := range map[string]int{
		`[{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"1e3"}}]`:          1,
		`[{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"1e-999999999"}}]`: 0,
		`{`: 0,
	} {
		a := &autoscalingv1.HorizontalPodAutoscaler{}
		a.Annotations = map[string]string{metricsAnnotation: text}
		if got := carried[autoscalingv1.MetricSpec](a, metricsAnnotation); len(got) != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
