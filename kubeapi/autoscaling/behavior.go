package autoscaling

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
)

// carriedBehavior is the behavior of autoscaling/v2 as the annotation of
// autoscaling/v1 spells it: kube-apiserver writes its fields there under the
// names that they have in Go, unset ones too.
type carriedBehavior struct{ ScaleUp, ScaleDown *carriedRules }

type carriedRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *autoscalingv2.ScalingPolicySelect
	Policies                   []carriedPolicy
	Tolerance                  *resource.Quantity
}

type carriedPolicy struct {
	Type          autoscalingv2.HPAScalingPolicyType
	Value         int32
	PeriodSeconds int32
}

func carryBehavior(b *autoscalingv2.HorizontalPodAutoscalerBehavior) *carriedBehavior {
	if b == nil {
		return nil
	}
	return &carriedBehavior{ScaleUp: carryRules(b.ScaleUp), ScaleDown: carryRules(b.ScaleDown)}
}

func carryRules(r *autoscalingv2.HPAScalingRules) *carriedRules {
	if r == nil {
		return nil
	}
	out := &carriedRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy,
		Tolerance: r.Tolerance}
	if r.Policies != nil {
		out.Policies = make([]carriedPolicy, 0, len(r.Policies))
	}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, carriedPolicy(p))
	}
	return out
}
