package autoscaling

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

const (
	maxStabilization = 3600
	maxPeriod        = 1800
)

// validate validates an autoscaler, whose minReplicas are at least least.
func validateStatus(a *autoscaler) field.ErrorList {
	path := field.NewPath("status")
	errs := check.NonNegative(int64(a.Status.CurrentReplicas), path.Child("currentReplicas"))
	errs = append(errs, check.NonNegative(int64(a.Status.DesiredReplicas), path.Child("desiredReplicas"))...)
	for i := range a.Status.Conditions {
		errs = append(errs, check.NonNegativePtr(a.Status.Conditions[i].ObservedGeneration,
			path.Child("conditions").Index(i).Child("observedGeneration"))...)
	}
	return errs
}

func validate(a *autoscaler, least int32) field.ErrorList {
	s, path := &a.Spec, field.NewPath("spec")
	var errs field.ErrorList
	if s.MinReplicas != nil && s.MaxReplicas < *s.MinReplicas {
		errs = append(errs, field.Invalid(path.Child("maxReplicas"), s.MaxReplicas,
			"must be greater than or equal to `minReplicas`"))
	}
	errs = append(errs, validateReference(s.ScaleTargetRef, path.Child("scaleTargetRef"))...)
	toZero := false
	for i := range s.Metrics {
		m := &s.Metrics[i]
		errs = append(errs, validateMetric(m, path.Child("metrics").Index(i))...)
		toZero = toZero || m.Type == autoscalingv2.ObjectMetricSourceType || m.Type == autoscalingv2.ExternalMetricSourceType
	}
	if s.MinReplicas != nil && *s.MinReplicas == 0 && !toZero {
		errs = append(errs, field.Forbidden(path.Child("metrics"),
			"must specify at least one Object or External metric to support scaling to zero replicas"))
	}
	if b := s.Behavior; b != nil {
		errs = append(errs, validateRules(b.ScaleUp, path.Child("behavior", "scaleUp"))...)
		errs = append(errs, validateRules(b.ScaleDown, path.Child("behavior", "scaleDown"))...)
	}
	if s.MinReplicas != nil && *s.MinReplicas < least {
		errs = append(errs, field.Invalid(path.Child("minReplicas"), *s.MinReplicas,
			fmt.Sprintf("must be greater than or equal to %d", least)))
	}
	switch limit := path.Child("maxReplicas"); {
	case s.MaxReplicas == 0:
		errs = append(errs, field.Required(limit, ""))
	case s.MaxReplicas < 1:
		errs = append(errs, field.Invalid(limit, s.MaxReplicas, "must be greater than or equal to 1"))
	}
	return errs
}

func validateReference(r autoscalingv2.CrossVersionObjectReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct{ value, name string }{{r.Kind, "kind"}, {r.Name, "name"}} {
		if f.value == "" {
			errs = append(errs, field.Required(path.Child(f.name), ""))
		} else {
			errs = append(errs, check.PathSegment(f.value, path.Child(f.name))...)
		}
	}
	gv, err := schema.ParseGroupVersion(r.APIVersion)
	if err != nil {
		return append(errs, field.Invalid(path.Child("apiVersion"), r.APIVersion, err.Error()))
	}
	if gv.Group == "" && r.Kind != "ReplicationController" {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), r.APIVersion, "apiVersion must specify API group"))
	}
	return errs
}

func validateRules(r *autoscalingv2.HPAScalingRules, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if w := r.StabilizationWindowSeconds; w != nil {
		at := path.Child("stabilizationWindowSeconds")
		if *w < 0 {
			errs = append(errs, field.Invalid(at, *w, "must be greater than or equal to zero"))
		} else if *w > maxStabilization {
			errs = append(errs, field.Invalid(at, *w, fmt.Sprintf("must be less than or equal to %v", maxStabilization)))
		}
	}
	if r.SelectPolicy != nil {
		errs = append(errs, check.OneOf(*r.SelectPolicy, path.Child("selectPolicy"), autoscalingv2.DisabledPolicySelect,
			autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	}
	policies := path.Child("policies")
	if len(r.Policies) == 0 {
		errs = append(errs, field.Required(policies, "must specify at least one Policy"))
	}
	for i, p := range r.Policies {
		at := policies.Index(i)
		errs = append(errs, check.OneOf(p.Type, at.Child("type"), autoscalingv2.PercentScalingPolicy,
			autoscalingv2.PodsScalingPolicy)...)
		if p.Value <= 0 {
			errs = append(errs, field.Invalid(at.Child("value"), p.Value, "must be greater than zero"))
		}
		if p.PeriodSeconds <= 0 {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), p.PeriodSeconds, "must be greater than zero"))
		} else if p.PeriodSeconds > maxPeriod {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), p.PeriodSeconds,
				fmt.Sprintf("must be less than or equal to %v", maxPeriod)))
		}
	}
	if r.Tolerance != nil && r.Tolerance.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("tolerance"), r.Tolerance, "must be greater than or equal to 0"))
	}
	return errs
}

// source is one of the sources that a metric has a field for.
type source struct {
	of       autoscalingv2.MetricSourceType
	field    string
	set      bool
	validate func(*field.Path) field.ErrorList
}

func sources(m *autoscalingv2.MetricSpec) []source {
	return []source{
		{autoscalingv2.ObjectMetricSourceType, "object", m.Object != nil,
			func(p *field.Path) field.ErrorList { return validateObject(m.Object, p) }},
		{autoscalingv2.ExternalMetricSourceType, "external", m.External != nil,
			func(p *field.Path) field.ErrorList { return validateExternal(m.External, p) }},
		{autoscalingv2.PodsMetricSourceType, "pods", m.Pods != nil,
			func(p *field.Path) field.ErrorList { return validatePods(m.Pods, p) }},
		{autoscalingv2.ResourceMetricSourceType, "resource", m.Resource != nil,
			func(p *field.Path) field.ErrorList { return validateResource(m.Resource, p) }},
		{autoscalingv2.ContainerResourceMetricSourceType, "containerResource", m.ContainerResource != nil,
			func(p *field.Path) field.ErrorList { return validateContainerResource(m.ContainerResource, p) }},
	}
}

// validateMetric validates that a metric has the source that its type names and
// no other. Of several sources only the first is looked into.
func validateMetric(m *autoscalingv2.MetricSpec, path *field.Path) field.ErrorList {
	supported := []autoscalingv2.MetricSourceType{autoscalingv2.ContainerResourceMetricSourceType,
		autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType}
	var errs field.ErrorList
	if m.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric source type"))
	}
	errs = append(errs, check.OneOf(m.Type, path.Child("type"), supported...)...)
	all, present := sources(m), 0
	for _, s := range all {
		if s.set {
			present++
			if present == 1 {
				errs = append(errs, s.validate(path.Child(s.field))...)
			}
		}
	}
	// A type that is not supported is refused again, as no source is the right one.
	errs = append(errs, check.OneOf(m.Type, path.Child("type"), supported...)...)
	for _, s := range all {
		switch {
		case s.of == m.Type && !s.set:
			errs = append(errs, field.Required(path.Child(s.field), "must populate information for the given metric source"))
		case s.of != m.Type && s.set && present != 1:
			errs = append(errs, field.Forbidden(path.Child(s.field), "must populate the given metric source only"))
		}
	}
	return errs
}

// validateIdentifier leaves the selector to the metrics API that it is sent to.
func validateIdentifier(id *autoscalingv2.MetricIdentifier, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if id.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must specify a metric name"))
	} else {
		errs = append(errs, check.PathSegment(id.Name, path.Child("name"))...)
	}
	return errs
}

func validateTarget(t *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "must specify a metric target type"))
	}
	switch t.Type {
	case autoscalingv2.UtilizationMetricType, autoscalingv2.ValueMetricType, autoscalingv2.AverageValueMetricType:
	default:
		errs = append(errs, field.Invalid(path.Child("type"), t.Type, "must be either Utilization, Value, or AverageValue"))
	}
	if t.AverageUtilization != nil && *t.AverageUtilization < 1 {
		errs = append(errs, field.Invalid(path.Child("averageUtilization"), t.AverageUtilization, "must be greater than 0"))
	}
	for _, q := range []struct {
		value *resource.Quantity
		name  string
	}{{t.Value, "value"}, {t.AverageValue, "averageValue"}} {
		if q.value != nil && q.value.Sign() != 1 {
			errs = append(errs, field.Invalid(path.Child(q.name), q.value, "must be positive"))
		}
	}
	return errs
}

func validateObject(o *autoscalingv2.ObjectMetricSource, path *field.Path) field.ErrorList {
	errs := validateReferenceNames(o.DescribedObject, path.Child("describedObject"))
	errs = append(errs, validateIdentifier(&o.Metric, path.Child("metric"))...)
	errs = append(errs, validateTarget(&o.Target, path.Child("target"))...)
	if o.Target.Value == nil && o.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"),
			"must set either a target value or averageValue"))
	}
	return errs
}

// validateReferenceNames validates a reference whose group may be the core group.
func validateReferenceNames(r autoscalingv2.CrossVersionObjectReference, path *field.Path) field.ErrorList {
	if gv, err := schema.ParseGroupVersion(r.APIVersion); err == nil && gv.Group == "" {
		r.APIVersion = "core/v1"
	}
	return validateReference(r, path)
}

func validateExternal(e *autoscalingv2.ExternalMetricSource, path *field.Path) field.ErrorList {
	errs := validateIdentifier(&e.Metric, path.Child("metric"))
	errs = append(errs, validateTarget(&e.Target, path.Child("target"))...)
	if e.Target.Value == nil && e.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"),
			"must set either a target value for metric or a per-pod target"))
	}
	if e.Target.Value != nil && e.Target.AverageValue != nil {
		errs = append(errs, field.Forbidden(path.Child("target", "value"),
			"may not set both a target value for metric and a per-pod target"))
	}
	return errs
}

func validatePods(p *autoscalingv2.PodsMetricSource, path *field.Path) field.ErrorList {
	errs := validateIdentifier(&p.Metric, path.Child("metric"))
	errs = append(errs, validateTarget(&p.Target, path.Child("target"))...)
	if p.Target.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("target", "averageValue"),
			"must specify a positive target averageValue"))
	}
	return errs
}

func validateResource(r *autoscalingv2.ResourceMetricSource, path *field.Path) field.ErrorList {
	return append(resourceNamed(r.Name, path.Child("name")), validateResourceTarget(&r.Target, path.Child("target"))...)
}

func validateContainerResource(c *autoscalingv2.ContainerResourceMetricSource, path *field.Path) field.ErrorList {
	errs := resourceNamed(c.Name, path.Child("name"))
	if c.Name != "" {
		errs = append(errs, podspec.ContainerResourceName(string(c.Name), path.Child("name"))...)
	}
	if c.Container == "" {
		errs = append(errs, field.Required(path.Child("container"), "must specify a container"))
	} else {
		errs = append(errs, check.Label(c.Container, path.Child("container"))...)
	}
	return append(errs, validateResourceTarget(&c.Target, path.Child("target"))...)
}

func resourceNamed(name corev1.ResourceName, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must specify a resource name")}
	}
	return nil
}

func validateResourceTarget(t *autoscalingv2.MetricTarget, path *field.Path) field.ErrorList {
	errs := validateTarget(t, path)
	if t.AverageUtilization == nil && t.AverageValue == nil {
		errs = append(errs, field.Required(path.Child("averageUtilization"),
			"must set either a target raw value or a target utilization"))
	}
	if t.AverageUtilization != nil && t.AverageValue != nil {
		errs = append(errs, field.Forbidden(path.Child("averageValue"),
			"may not set both a target raw value and a target utilization"))
	}
	return errs
}
