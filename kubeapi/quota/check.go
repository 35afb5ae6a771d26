package quota

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Matches reports whether a quota counts an object: it is in the quota's scopes,
// and takes of its resources.
func Matches(q *corev1.ResourceQuota, gr schema.GroupResource, obj runtime.Object) bool {
	return inScopes(q, obj) && len(counted(q, gr)) > 0
}

// counted are the resources of a quota that objects of gr may take, in order.
func counted(q *corev1.ResourceQuota, gr schema.GroupResource) []corev1.ResourceName {
	var names []corev1.ResourceName
	for _, name := range sets.List(sets.KeySet(q.Status.Hard)) {
		if Counts(gr, name) {
			names = append(names, name)
		}
	}
	return names
}

// Demand refuses an object that does not say what a quota has to know of it, and
// all objects while the quota's use is unknown. The quota must match.
func Demand(q *corev1.ResourceQuota, gr schema.GroupResource, obj runtime.Object) error {
	names := counted(q, gr)
	if p, ok := obj.(*corev1.Pod); ok {
		if missing := unsaid(p, names); missing != "" {
			return fmt.Errorf("failed quota: %s: must specify %s", q.Name, missing)
		}
	}
	for _, name := range names {
		if _, ok := q.Status.Used[name]; !ok {
			return fmt.Errorf("status unknown for quota: %s, resources: %s", q.Name, joined(names))
		}
	}
	return nil
}

func joined(names []corev1.ResourceName) string {
	texts := make([]string, len(names))
	for i := range names {
		texts[i] = string(names[i])
	}
	return strings.Join(texts, ",")
}

// unsaid returns the containers that leave open how much they need of a resource that
// is counted. Those of a pod with pod-level resources, whichever, may leave that to the pod.
func unsaid(p *corev1.Pod, names []corev1.ResourceName) string {
	if r := p.Spec.Resources; r != nil && len(r.Requests)+len(r.Limits) > 0 {
		return ""
	}
	var missing []string
	for _, name := range names {
		if !podCompute.Has(name) {
			continue
		}
		var containers []string
		for _, list := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
			for i := range list {
				if !says(&list[i].Resources, name) {
					containers = append(containers, list[i].Name)
				}
			}
		}
		if len(containers) > 0 {
			slices.Sort(containers)
			missing = append(missing, fmt.Sprintf("%s for: %s", name, strings.Join(slices.Compact(containers), ",")))
		}
	}
	return strings.Join(missing, "; ")
}

func says(r *corev1.ResourceRequirements, name corev1.ResourceName) bool {
	list := r.Requests
	if rest, ok := strings.CutPrefix(string(name), limits); ok {
		list, name = r.Limits, corev1.ResourceName(rest)
	}
	_, ok := list[corev1.ResourceName(strings.TrimPrefix(string(name), requests))]
	return ok
}

// Charge is what an operation adds to the use of a quota that counts obj: what obj takes, less
// what old took if the quota counted that too. old is nil for a new object. The charge is empty
// where nothing is added.
func Charge(q *corev1.ResourceQuota, gr schema.GroupResource, obj, old runtime.Object) (corev1.ResourceList, error) {
	usage := Usage(gr, obj)
	var negative []corev1.ResourceName
	for name, q := range usage {
		if q.Sign() < 0 {
			negative = append(negative, name)
		}
	}
	if len(negative) > 0 {
		slices.Sort(negative)
		return nil, fmt.Errorf("quota usage is negative for resource(s): %s", joined(negative))
	}
	if old != nil && inScopes(q, old) {
		for name, before := range Usage(gr, old) {
			if now, ok := usage[name]; ok {
				now.Sub(before)
				usage[name] = now
			}
		}
	}
	for name, q := range usage {
		if q.Sign() <= 0 {
			delete(usage, name)
		}
	}
	return usage, nil
}

// Exceeded refuses a charge that goes beyond the bounds of a quota.
func Exceeded(q *corev1.ResourceQuota, charge corev1.ResourceList) error {
	var exceeded []corev1.ResourceName
	for _, name := range sets.List(sets.KeySet(charge)) {
		if hard, ok := q.Status.Hard[name]; ok {
			if sum := plus(q.Status.Used[name], charge[name]); sum.Cmp(hard) > 0 {
				exceeded = append(exceeded, name)
			}
		}
	}
	if len(exceeded) == 0 {
		return nil
	}
	return fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s", q.Name,
		amounts(charge, exceeded), amounts(q.Status.Used, exceeded), amounts(q.Status.Hard, exceeded))
}

// Spend adds a charge to what is used of the resources that a quota bounds.
func Spend(q *corev1.ResourceQuota, charge corev1.ResourceList) {
	for name := range charge {
		if _, ok := q.Status.Hard[name]; !ok {
			continue
		}
		if q.Status.Used == nil {
			q.Status.Used = corev1.ResourceList{}
		}
		q.Status.Used[name] = plus(q.Status.Used[name], charge[name])
	}
}

func plus(a, b resource.Quantity) resource.Quantity {
	sum := a.DeepCopy()
	sum.Add(b)
	return sum
}

func amounts(list corev1.ResourceList, names []corev1.ResourceName) string {
	texts := make([]string, len(names))
	for i, name := range names {
		q := list[name]
		texts[i] = string(name) + "=" + q.String()
	}
	return strings.Join(texts, ",")
}
