package autoscaling

import (
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"triplane.dev/kubeapi/kindtest"
)

const everything = `
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}
  minReplicas: 2
  maxReplicas: 5
  metrics:
  - {type: Pods, pods: {metric: {name: p}, target: {type: AverageValue, averageValue: "5"}}}
  - {type: External, external: {metric: {name: e}, target: {type: Value, value: "20"}}}
  - {type: Object, object: {describedObject: {apiVersion: v1, kind: Service, name: s}, metric: {name: o}, target: {type: Value, value: "10"}}}
  - {type: ContainerResource, containerResource: {name: cpu, container: c, target: {type: Utilization, averageUtilization: 50}}}
  - {type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}
  behavior: {scaleDown: {selectPolicy: Disabled, tolerance: 200m}}
`

func TestRoundTrip(t *testing.T) {
	before := kindtest.New(t, autoscalerKind(1, true), everything)
	through, err := toV1(before)
	if err != nil {
		t.Fatal(err)
	}
	if *through.Spec.TargetCPUUtilizationPercentage != 50 || len(through.Annotations) != 2 {
		t.Errorf("unexpected v1 %+v %v", through.Spec, through.Annotations)
	}
	after, err := toV2(through)
	if err != nil || !equality.Semantic.DeepEqual(before.Spec, after.Spec) || len(after.Annotations) != 0 {
		t.Errorf("got %+v\nwant %+v", after.Spec, before.Spec)
	}
}

func TestUnreadableAnnotations(t *testing.T) {
	a := &autoscalingv1.HorizontalPodAutoscaler{}
	a.Annotations = map[string]string{metricsAnnotation: "x", behaviorAnnotation: "{", "keep": "me"}
	out, err := toV2(a)
	if err != nil || len(out.Spec.Metrics) != 1 || out.Spec.Behavior != nil || len(out.Annotations) != 1 {
		t.Errorf("got %+v %v", out.Spec, out.Annotations)
	}
}

func TestValidation(t *testing.T) {
	kindtest.Refused(t, autoscalerKind(1, true), everything)
	kindtest.Refused(t, autoscalerKind(1, true), "spec: {maxReplicas: 0, minReplicas: 0, scaleTargetRef: {kind: A, name: a/b, apiVersion: x/v1}}",
		`spec.scaleTargetRef.name: Invalid value: "a/b": may not contain '/'`,
		"spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
		"spec.minReplicas: Invalid value: 0: must be greater than or equal to 1",
		"spec.maxReplicas: Required value")
}
