package core

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/podspec"
)

// limitRangeKind declares limit ranges.
func limitRangeKind() kind.Kind[*corev1.LimitRange] {
	return kind.Kind[*corev1.LimitRange]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"limits"}},
		Write: kind.Write[*corev1.LimitRange]{
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
			Default: defaultLimitRange,
			Prepare: kind.AtCreation(func(_ context.Context, l *corev1.LimitRange) {
				if l.Name == "" && l.GenerateName == "" {
					l.Name = string(uuid.NewUUID())
				}
			}),
			Validate: kind.Whole(validateLimitRange),
		},
	}
}

// defaultLimitRange completes the containers' items: a default limit is the
// maximum, a default request the limit or the minimum.
func defaultLimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		it := &l.Spec.Limits[i]
		for _, r := range []corev1.ResourceList{it.Max, it.Min, it.Default, it.DefaultRequest, it.MaxLimitRequestRatio} {
			podspec.RoundResources(r)
		}
		if it.Type != corev1.LimitTypeContainer {
			continue
		}
		if it.Default == nil {
			it.Default = corev1.ResourceList{}
		}
		if it.DefaultRequest == nil {
			it.DefaultRequest = corev1.ResourceList{}
		}
		fillFrom(it.Default, it.Max)
		fillFrom(it.DefaultRequest, it.Default)
		fillFrom(it.DefaultRequest, it.Min)
	}
}

func fillFrom(to, from corev1.ResourceList) {
	for k, v := range from {
		if _, ok := to[k]; !ok {
			to[k] = v.DeepCopy()
		}
	}
}
