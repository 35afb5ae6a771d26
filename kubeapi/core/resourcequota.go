package core

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/podspec"
)

// resourceQuotaKind declares resource quotas.
func resourceQuotaKind() kind.Kind[*corev1.ResourceQuota] {
	type quota = *corev1.ResourceQuota
	return kind.Kind[quota]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"quota"}},
		Representation: kind.Typed[quota]{MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[quota]{
			AllowUnconditionalUpdate: kind.Always,
			Default: func(q quota) {
				podspec.RoundResources(q.Spec.Hard)
				podspec.RoundResources(q.Status.Hard)
				podspec.RoundResources(q.Status.Used)
			},
			Validate: kind.Whole(quotaSpec, quotaScopesKept),
			Warnings: quotaWarnings,
		},
		Delete: kind.Delete[quota]{ReturnsObject: true},
		Columns: show.Columns(
			show.Text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
			show.Text("Limit",
				"Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.")),
		Show:   kind.Show[quota]{Cells: quotaCells},
		Status: &kind.Subresource[quota]{Validate: kind.Whole(quotaStatus)},
	}
}

func quotaCells(q *corev1.ResourceQuota, _ func(metav1.Time) string) []any {
	var r, l []string
	for _, name := range sortedNames(q.Status.Hard) {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		text := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(string(name), "limits") {
			l = append(l, text)
		} else {
			r = append(r, text)
		}
	}
	return []any{strings.Join(r, ", "), strings.Join(l, ", ")}
}

func sortedNames(l corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(l))
	for k := range l {
		names = append(names, k)
	}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	return names
}

// quotaWarnings warns of a new quota whose limits are used up before its requests, as no
// limit is below its request. "cpu" and "memory" are other names of requests.
func quotaWarnings(_ context.Context, q, old *corev1.ResourceQuota) []string {
	if old != nil {
		return nil
	}
	var warnings []string
	for _, names := range []struct {
		limit    corev1.ResourceName
		requests []corev1.ResourceName
	}{
		{corev1.ResourceLimitsCPU, []corev1.ResourceName{corev1.ResourceRequestsCPU, corev1.ResourceCPU}},
		{corev1.ResourceLimitsMemory, []corev1.ResourceName{corev1.ResourceRequestsMemory, corev1.ResourceMemory}},
		{corev1.ResourceLimitsEphemeralStorage, []corev1.ResourceName{corev1.ResourceRequestsEphemeralStorage}},
	} {
		limit, limited := q.Spec.Hard[names.limit]
		i := slices.IndexFunc(names.requests, func(name corev1.ResourceName) bool { _, ok := q.Spec.Hard[name]; return ok })
		if !limited || i < 0 {
			continue
		}
		if request := q.Spec.Hard[names.requests[i]]; request.Cmp(limit) > 0 {
			warnings = append(warnings, fmt.Sprintf("ResourceQuota %s (%s) should be less than %s (%s)", names.requests[i],
				request.String(), names.limit, limit.String()))
		}
	}
	return warnings
}
