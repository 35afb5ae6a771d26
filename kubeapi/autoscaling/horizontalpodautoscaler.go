package autoscaling

import (
	"fmt"
	"strconv"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

type autoscaler = autoscalingv2.HorizontalPodAutoscaler

// autoscalerKind declares autoscalers, whose minReplicas are at least least; counted says that they have generations.
func autoscalerKind(least int32, counted bool) kind.Kind[*autoscaler] {
	former := kind.VersionOf(autoscalingv1.SchemeGroupVersion, toV2, toV1)
	former.Default, former.OwnDefaults = defaultV1, true
	return kind.Kind[*autoscaler]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"hpa"}, Categories: []string{"all"}},
		Representation: kind.Typed[*autoscaler]{
			MetadataOnUpdate: kind.MetadataChange, LateDefaults: true,
			Versions: []kind.Version[*autoscaler]{former},
		},
		Write: kind.Write[*autoscaler]{
			Default:                  defaultAutoscaler,
			CountsGeneration:         counted,
			AllowUnconditionalUpdate: kind.Always,
			Validate:                 kind.Whole(func(a *autoscaler) field.ErrorList { return validate(a, least) }),
		},
		Columns: show.Columns(
			show.Cell("Reference", ".spec.scaleTargetRef", reference),
			show.Cell("Targets", ".spec.metrics", targets),
			show.Cell("MinPods", ".spec.minReplicas", minimum),
			show.AsText(show.Field("MaxPods", "spec.maxReplicas")),
			show.AsText(show.Field("Replicas", "status.currentReplicas"))),
		Status: &kind.Subresource[*autoscaler]{Validate: kind.Whole(validateStatus)},
	}
}

func defaultAutoscaler(a *autoscaler) {
	a.Annotations = withoutCarried(a.Annotations)
	if a.Spec.MinReplicas == nil {
		a.Spec.MinReplicas = ptr.To[int32](1)
	}
	if len(a.Spec.Metrics) == 0 {
		a.Spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(80)}
	}
	if b := a.Spec.Behavior; b != nil {
		b.ScaleUp = withDefaults(b.ScaleUp, upRules())
		b.ScaleDown = withDefaults(b.ScaleDown, downRules())
	}
}

// defaultV1 replaces the defaults of version 2, which do not complete what comes in
// annotations.
func defaultV1(o runtime.Object) {
	if a, ok := o.(*autoscalingv1.HorizontalPodAutoscaler); ok && a.Spec.MinReplicas == nil {
		a.Spec.MinReplicas = ptr.To[int32](1)
	}
}

func cpuMetric(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		}}
}

func upRules() *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: ptr.To[int32](0),
		SelectPolicy:               ptr.To(autoscalingv2.MaxChangePolicySelect),
		Policies: []autoscalingv2.HPAScalingPolicy{
			{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
			{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
		},
	}
}

func downRules() *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{
		SelectPolicy: ptr.To(autoscalingv2.MaxChangePolicySelect),
		Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100,
			PeriodSeconds: 15}},
	}
}

// withDefaults completes rules.
func withDefaults(r, defaults *autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	if r == nil {
		return defaults
	}
	if r.StabilizationWindowSeconds == nil {
		r.StabilizationWindowSeconds = defaults.StabilizationWindowSeconds
	}
	if r.SelectPolicy == nil {
		r.SelectPolicy = defaults.SelectPolicy
	}
	if r.Policies == nil {
		r.Policies = defaults.Policies
	}
	return r
}

// maxShown is how many metrics a row of the table shows.
const maxShown = 2

func reference(a *autoscaler) string {
	return a.Spec.ScaleTargetRef.Kind + "/" + a.Spec.ScaleTargetRef.Name
}

func targets(a *autoscaler) string {
	if len(a.Spec.Metrics) == 0 {
		return "<none>"
	}
	var list []string
	for i := range a.Spec.Metrics {
		var status *autoscalingv2.MetricStatus
		if i < len(a.Status.CurrentMetrics) {
			status = &a.Status.CurrentMetrics[i]
		}
		list = append(list, target(&a.Spec.Metrics[i], status))
	}
	if n := len(list); n > maxShown {
		return fmt.Sprintf("%s + %d more...", strings.Join(list[:maxShown], ", "), n-maxShown)
	}
	return strings.Join(list, ", ")
}

func target(m *autoscalingv2.MetricSpec, s *autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	var want autoscalingv2.MetricTarget
	name := ""
	switch {
	case m.Resource != nil:
		want, name = m.Resource.Target, string(m.Resource.Name)+": "
		if s != nil && s.Resource != nil {
			current = s.Resource.Current
		}
	case m.ContainerResource != nil:
		want, name = m.ContainerResource.Target, string(m.ContainerResource.Name)+": "
		if s != nil && s.ContainerResource != nil {
			current = s.ContainerResource.Current
		}
	case m.Pods != nil:
		want = m.Pods.Target
		if s != nil && s.Pods != nil {
			current = s.Pods.Current
		}
	case m.Object != nil:
		want = m.Object.Target
		if s != nil && s.Object != nil {
			current = s.Object.Current
		}
	case m.External != nil:
		want = m.External.Target
		if s != nil && s.External != nil {
			current = s.External.Current
		}
	default:
		return "<unknown type>"
	}
	average := ""
	if name == "" && m.Pods == nil {
		average = " (avg)"
	}
	switch {
	case want.AverageValue != nil:
		return name + amount(current.AverageValue) + "/" + want.AverageValue.String() + average
	case want.AverageUtilization != nil:
		return fmt.Sprintf("%s%s/%d%%", name, percent(current.AverageUtilization), *want.AverageUtilization)
	default:
		return name + amount(current.Value) + "/" + amount(want.Value)
	}
}

func amount(q *resource.Quantity) string {
	if q == nil {
		return "<unknown>"
	}
	return q.String()
}

func percent(p *int32) string {
	if p == nil {
		return "<unknown>"
	}
	return fmt.Sprintf("%d%%", *p)
}

// minimum is the cell of the smallest number of pods.
func minimum(a *autoscaler) string {
	if a.Spec.MinReplicas == nil {
		return "<unset>"
	}
	return strconv.Itoa(int(*a.Spec.MinReplicas))
}
