package autoscaling

import (
	"encoding/json"
	"maps"
	"slices"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"triplane.dev/internal/quantity"
)

// Annotations of autoscaling/v1 that carry the rest of autoscaling/v2.
const (
	metricsAnnotation    = "autoscaling.alpha.kubernetes.io/metrics"
	statusesAnnotation   = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation   = "autoscaling.alpha.kubernetes.io/behavior"
)

// withoutCarried returns the annotations but for those of this file.
func withoutCarried(annotations map[string]string) map[string]string {
	carries := []string{metricsAnnotation, statusesAnnotation, conditionsAnnotation, behaviorAnnotation}
	if !slices.ContainsFunc(carries, func(k string) bool { _, ok := annotations[k]; return ok }) {
		return annotations
	}
	out := maps.Clone(annotations)
	for _, k := range carries {
		delete(out, k)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// isCPU reports whether a metric is what v1 has a field for.
func isCPU(m *autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil &&
		m.Resource.Name == corev1.ResourceCPU &&
		m.Resource.Target.AverageUtilization != nil
}

func toV1(a *autoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: a.ObjectMeta}
	out.Annotations = maps.Clone(withoutCarried(a.Annotations))
	out.Spec = autoscalingv1.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(a.Spec.ScaleTargetRef),
		MinReplicas:    a.Spec.MinReplicas, MaxReplicas: a.Spec.MaxReplicas,
	}
	out.Status = autoscalingv1.HorizontalPodAutoscalerStatus{
		ObservedGeneration: a.Status.ObservedGeneration, LastScaleTime: a.Status.LastScaleTime,
		CurrentReplicas: a.Status.CurrentReplicas, DesiredReplicas: a.Status.DesiredReplicas,
	}
	var metrics []autoscalingv1.MetricSpec
	for i := range a.Spec.Metrics {
		if m := &a.Spec.Metrics[i]; isCPU(m) {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
		} else {
			metrics = append(metrics, metricToV1(m))
		}
	}
	var statuses []autoscalingv1.MetricStatus
	for i := range a.Status.CurrentMetrics {
		s := &a.Status.CurrentMetrics[i]
		if s.Resource != nil && s.Resource.Name == corev1.ResourceCPU && s.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = s.Resource.Current.AverageUtilization
		}
		statuses = append(statuses, statusToV1(s))
	}
	var conditions []autoscalingv1.HorizontalPodAutoscalerCondition
	for _, c := range a.Status.Conditions {
		conditions = append(conditions, autoscalingv1.HorizontalPodAutoscalerCondition{Type: autoscalingv1.HorizontalPodAutoscalerConditionType(c.Type),
			Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	for _, c := range []struct {
		key   string
		value any
		set   bool
	}{
		{metricsAnnotation, metrics, len(metrics) > 0}, {statusesAnnotation, statuses, len(statuses) > 0},
		{conditionsAnnotation, conditions, len(conditions) > 0}, {behaviorAnnotation, carryBehavior(a.Spec.Behavior),
			a.Spec.Behavior != nil},
	} {
		if !c.set {
			continue
		}
		raw, err := json.Marshal(c.value)
		if err != nil {
			return nil, err
		}
		if out.Annotations == nil {
			out.Annotations = map[string]string{}
		}
		out.Annotations[c.key] = string(raw)
	}
	return out, nil
}

// toV2 reads the annotations too; those that cannot be read are dropped.
func toV2(a *autoscalingv1.HorizontalPodAutoscaler) (*autoscaler, error) {
	out := &autoscaler{ObjectMeta: a.ObjectMeta}
	out.Annotations = withoutCarried(a.Annotations)
	out.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(a.Spec.ScaleTargetRef),
		MinReplicas:    a.Spec.MinReplicas, MaxReplicas: a.Spec.MaxReplicas,
	}
	out.Status = autoscalingv2.HorizontalPodAutoscalerStatus{
		LastScaleTime: a.Status.LastScaleTime, ObservedGeneration: a.Status.ObservedGeneration,
		CurrentReplicas: a.Status.CurrentReplicas, DesiredReplicas: a.Status.DesiredReplicas,
	}
	for _, m := range carried[autoscalingv1.MetricSpec](a, metricsAnnotation) {
		out.Spec.Metrics = append(out.Spec.Metrics, metricToV2(&m))
	}
	if p := a.Spec.TargetCPUUtilizationPercentage; p != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuMetric(*p))
	} else if len(out.Spec.Metrics) == 0 {
		out.Spec.Metrics = []autoscalingv2.MetricSpec{cpuMetric(80)}
	}
	statuses := carried[autoscalingv1.MetricStatus](a, statusesAnnotation)
	for _, s := range statuses {
		out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, statusToV2(&s))
	}
	if p := a.Status.CurrentCPUUtilizationPercentage; p != nil && len(statuses) == 0 {
		out.Status.CurrentMetrics = []autoscalingv2.MetricStatus{{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name: corev1.ResourceCPU, Current: autoscalingv2.MetricValueStatus{AverageUtilization: p}}}}
	}
	for _, c := range carried[autoscalingv1.HorizontalPodAutoscalerCondition](a, conditionsAnnotation) {
		out.Status.Conditions = append(out.Status.Conditions,
			autoscalingv2.HorizontalPodAutoscalerCondition{Type: autoscalingv2.HorizontalPodAutoscalerConditionType(c.Type),
				Status: c.Status, LastTransitionTime: c.LastTransitionTime, Reason: c.Reason, Message: c.Message})
	}
	if raw, ok := a.Annotations[behaviorAnnotation]; ok {
		b := &autoscalingv2.HorizontalPodAutoscalerBehavior{}
		if readsInto(raw, b) && (b.ScaleUp != nil || b.ScaleDown != nil) {
			out.Spec.Behavior = b
		}
	}
	return out, nil
}

func carried[T any](a *autoscalingv1.HorizontalPodAutoscaler, key string) []T {
	var list []T
	if raw, ok := a.Annotations[key]; ok && !readsInto(raw, &list) {
		return nil
	}
	return list
}

func readsInto(raw string, into any) bool {
	return !quantity.IsTooLong(raw) && json.Unmarshal([]byte(raw), into) == nil
}

func metricToV1(m *autoscalingv2.MetricSpec) autoscalingv1.MetricSpec {
	out := autoscalingv1.MetricSpec{Type: autoscalingv1.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		out.Object = &autoscalingv1.ObjectMetricSource{Target: autoscalingv1.CrossVersionObjectReference(o.DescribedObject),
			MetricName: o.Metric.Name, Selector: o.Metric.Selector, AverageValue: o.Target.AverageValue}
		if o.Target.Value != nil {
			out.Object.TargetValue = *o.Target.Value
		}
	}
	if p := m.Pods; p != nil {
		out.Pods = &autoscalingv1.PodsMetricSource{MetricName: p.Metric.Name, Selector: p.Metric.Selector}
		if p.Target.AverageValue != nil {
			out.Pods.TargetAverageValue = *p.Target.AverageValue
		}
	}
	if r := m.Resource; r != nil {
		out.Resource = &autoscalingv1.ResourceMetricSource{Name: r.Name,
			TargetAverageUtilization: r.Target.AverageUtilization, TargetAverageValue: r.Target.AverageValue}
	}
	if r := m.ContainerResource; r != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricSource{Name: r.Name, Container: r.Container,
			TargetAverageUtilization: r.Target.AverageUtilization, TargetAverageValue: r.Target.AverageValue}
	}
	if e := m.External; e != nil {
		out.External = &autoscalingv1.ExternalMetricSource{MetricName: e.Metric.Name, MetricSelector: e.Metric.Selector,
			TargetValue: e.Target.Value, TargetAverageValue: e.Target.AverageValue}
	}
	return out
}

// newTarget makes a target of the values that are set.
func newTarget(value, average *resource.Quantity, utilization *int32) autoscalingv2.MetricTarget {
	t := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: value, AverageValue: average,
		AverageUtilization: utilization}
	if utilization != nil {
		t.Type = autoscalingv2.UtilizationMetricType
	} else if average != nil {
		t.Type = autoscalingv2.AverageValueMetricType
	}
	return t
}

func metricToV2(m *autoscalingv1.MetricSpec) autoscalingv2.MetricSpec {
	out := autoscalingv2.MetricSpec{Type: autoscalingv2.MetricSourceType(m.Type)}
	if o := m.Object; o != nil {
		value := &o.TargetValue
		if o.AverageValue != nil {
			value = nil
		}
		out.Object = &autoscalingv2.ObjectMetricSource{DescribedObject: autoscalingv2.CrossVersionObjectReference(o.Target),
			Metric: autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector},
			Target: newTarget(value, o.AverageValue, nil)}
	}
	if p := m.Pods; p != nil {
		out.Pods = &autoscalingv2.PodsMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: p.MetricName,
			Selector: p.Selector},
			Target: newTarget(nil, &p.TargetAverageValue, nil)}
	}
	if r := m.Resource; r != nil {
		out.Resource = &autoscalingv2.ResourceMetricSource{Name: r.Name, Target: newTarget(nil, r.TargetAverageValue,
			r.TargetAverageUtilization)}
	}
	if r := m.ContainerResource; r != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricSource{Name: r.Name, Container: r.Container,
			Target: newTarget(nil, r.TargetAverageValue, r.TargetAverageUtilization)}
	}
	if e := m.External; e != nil {
		out.External = &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: e.MetricName,
			Selector: e.MetricSelector},
			Target: newTarget(e.TargetValue, e.TargetAverageValue, nil)}
	}
	return out
}

func orZero(q *resource.Quantity) resource.Quantity {
	if q == nil {
		return resource.Quantity{}
	}
	return *q
}

func statusToV1(s *autoscalingv2.MetricStatus) autoscalingv1.MetricStatus {
	out := autoscalingv1.MetricStatus{Type: autoscalingv1.MetricSourceType(s.Type)}
	if o := s.Object; o != nil {
		out.Object = &autoscalingv1.ObjectMetricStatus{Target: autoscalingv1.CrossVersionObjectReference(o.DescribedObject),
			MetricName: o.Metric.Name,
			Selector:   o.Metric.Selector, CurrentValue: orZero(o.Current.Value), AverageValue: o.Current.AverageValue}
	}
	if p := s.Pods; p != nil {
		out.Pods = &autoscalingv1.PodsMetricStatus{MetricName: p.Metric.Name, Selector: p.Metric.Selector,
			CurrentAverageValue: orZero(p.Current.AverageValue)}
	}
	if r := s.Resource; r != nil {
		out.Resource = &autoscalingv1.ResourceMetricStatus{Name: r.Name,
			CurrentAverageUtilization: r.Current.AverageUtilization,
			CurrentAverageValue:       orZero(r.Current.AverageValue)}
	}
	if r := s.ContainerResource; r != nil {
		out.ContainerResource = &autoscalingv1.ContainerResourceMetricStatus{Name: r.Name, Container: r.Container,
			CurrentAverageUtilization: r.Current.AverageUtilization, CurrentAverageValue: orZero(r.Current.AverageValue)}
	}
	if e := s.External; e != nil {
		out.External = &autoscalingv1.ExternalMetricStatus{MetricName: e.Metric.Name, MetricSelector: e.Metric.Selector,
			CurrentValue: orZero(e.Current.Value), CurrentAverageValue: e.Current.AverageValue}
	}
	return out
}

func statusToV2(s *autoscalingv1.MetricStatus) autoscalingv2.MetricStatus {
	out := autoscalingv2.MetricStatus{Type: autoscalingv2.MetricSourceType(s.Type)}
	if o := s.Object; o != nil {
		out.Object = &autoscalingv2.ObjectMetricStatus{DescribedObject: autoscalingv2.CrossVersionObjectReference(o.Target),
			Metric:  autoscalingv2.MetricIdentifier{Name: o.MetricName, Selector: o.Selector},
			Current: autoscalingv2.MetricValueStatus{Value: &o.CurrentValue, AverageValue: o.AverageValue}}
	}
	if p := s.Pods; p != nil {
		out.Pods = &autoscalingv2.PodsMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: p.MetricName,
			Selector: p.Selector},
			Current: autoscalingv2.MetricValueStatus{AverageValue: &p.CurrentAverageValue}}
	}
	if r := s.Resource; r != nil {
		out.Resource = &autoscalingv2.ResourceMetricStatus{Name: r.Name,
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: r.CurrentAverageUtilization,
				AverageValue: &r.CurrentAverageValue}}
	}
	if r := s.ContainerResource; r != nil {
		out.ContainerResource = &autoscalingv2.ContainerResourceMetricStatus{Name: r.Name, Container: r.Container,
			Current: autoscalingv2.MetricValueStatus{AverageUtilization: r.CurrentAverageUtilization,
				AverageValue: &r.CurrentAverageValue}}
	}
	if e := s.External; e != nil {
		out.External = &autoscalingv2.ExternalMetricStatus{Metric: autoscalingv2.MetricIdentifier{Name: e.MetricName,
			Selector: e.MetricSelector},
			Current: autoscalingv2.MetricValueStatus{Value: &e.CurrentValue, AverageValue: e.CurrentAverageValue}}
	}
	return out
}
