package admission

import (
	"context"
	"fmt"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/podspec"
)

// limitRanger sets the default requests and limits of the namespace's LimitRanges on containers without them, and
// rejects pods and claims that violate the LimitRanges.
//
// Options: none. Metrics: none. Order: before plugins that depend on requests and limits; quota comes last.
type limitRanger struct{ *Dependencies }

func newLimitRanger(d *Dependencies) admission.Interface {
	return &limitRanger{d}
}

// Handles implements admission.Interface.
func (*limitRanger) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

func (l *limitRanger) ranges(ctx context.Context, a *admission.Attributes) ([]*corev1.LimitRange, error) {
	return group.LimitRanges(l.Stores).ListCached(ctx, a.Namespace)
}

// concerns reports whether LimitRanges apply to an operation: new and resized pods, and all claims.
func concerns(a *admission.Attributes) bool {
	switch a.Object.(type) {
	case *corev1.Pod:
		return a.Operation == admission.Create && a.Subresource == "" || a.Operation == admission.Update &&
			a.Subresource == "resize"
	case *corev1.PersistentVolumeClaim:
		return a.Subresource == ""
	}
	return false
}

// Admit implements admission.MutatingInterface.
func (l *limitRanger) Admit(ctx context.Context, a *admission.Attributes) error {
	p, ok := a.Object.(*corev1.Pod)
	if !ok || !concerns(a) || a.Operation != admission.Create {
		return nil
	}
	all, err := l.ranges(ctx, a)
	if err != nil {
		return err
	}
	for _, r := range all {
		defaults := containerDefaults(r)
		var notes []string
		for _, list := range []struct {
			kind string
			cs   []corev1.Container
		}{{"container", p.Spec.Containers}, {"init container", p.Spec.InitContainers}} {
			for i := range list.cs {
				c := &list.cs[i]
				notes = append(notes, fillResources(c, list.kind, &defaults)...)
			}
		}
		if len(notes) > 0 {
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations["kubernetes.io/limit-ranger"] = "LimitRanger plugin set: " + strings.Join(notes, "; ")
		}
	}
	// Pod-level resources depend on those of the containers.
	podspec.DefaultPodLevelResources(&p.Spec, l.enabled("PodLevelResourcesFixDefaulting"))
	return nil
}

// containerDefaults returns the default resources of a LimitRange for containers.
func containerDefaults(r *corev1.LimitRange) corev1.ResourceRequirements {
	d := corev1.ResourceRequirements{Requests: corev1.ResourceList{}, Limits: corev1.ResourceList{}}
	for i := range r.Spec.Limits {
		it := &r.Spec.Limits[i]
		if it.Type != corev1.LimitTypeContainer {
			continue
		}
		for k, v := range it.DefaultRequest {
			d.Requests[k] = v.DeepCopy()
		}
		for k, v := range it.Default {
			d.Limits[k] = v.DeepCopy()
		}
	}
	return d
}

func fillResources(c *corev1.Container, kind string, d *corev1.ResourceRequirements) []string {
	var notes []string
	fill := func(to *corev1.ResourceList, from corev1.ResourceList, what string) {
		var set []string
		for k, v := range from {
			if _, ok := (*to)[k]; ok {
				continue
			}
			if *to == nil {
				*to = corev1.ResourceList{}
			}
			(*to)[k] = v.DeepCopy()
			set = append(set, string(k))
		}
		if len(set) > 0 {
			sort.Strings(set)
			notes = append(notes, fmt.Sprintf("%s %s for %s %s", strings.Join(set, ", "), what, kind, c.Name))
		}
	}
	fill(&c.Resources.Requests, d.Requests, "request")
	fill(&c.Resources.Limits, d.Limits, "limit")
	return notes
}

// Validate implements admission.ValidatingInterface.
func (l *limitRanger) Validate(ctx context.Context, a *admission.Attributes) error {
	if !concerns(a) {
		return nil
	}
	all, err := l.ranges(ctx, a)
	if err != nil {
		return err
	}
	for _, r := range all {
		var errs []error
		switch o := a.Object.(type) {
		case *corev1.Pod:
			errs = podLimits(r, o)
		case *corev1.PersistentVolumeClaim:
			for i := range r.Spec.Limits {
				if it := &r.Spec.Limits[i]; it.Type == corev1.LimitTypePersistentVolumeClaim {
					errs = append(errs, claimBounds(it, o)...)
				}
			}
		}
		if len(errs) > 0 {
			return admission.Forbiddenf(a, "%w", utilerrors.NewAggregate(errs))
		}
	}
	return nil
}

func claimBounds(it *corev1.LimitRangeItem, c *corev1.PersistentVolumeClaim) []error {
	var errs []error
	for _, name := range names(it.Min) {
		errs = append(errs, atLeast(it, name, c.Spec.Resources.Requests, nil)...)
	}
	for _, name := range names(it.Max) {
		// A claim's request is also its limit.
		errs = append(errs, requestAtMost(it, name, c.Spec.Resources.Requests)...)
	}
	return errs
}

func requestAtMost(it *corev1.LimitRangeItem, name corev1.ResourceName, requests corev1.ResourceList) []error {
	most := it.Max[name]
	req, ok := requests[name]
	if !ok {
		return []error{fmt.Errorf("maximum %s usage per %s is %s.  No request is specified", name, it.Type,
			most.String())}
	}
	if req.Cmp(most) > 0 {
		return []error{fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, it.Type, most.String(),
			req.String())}
	}
	return nil
}

func podLimits(r *corev1.LimitRange, p *corev1.Pod) []error {
	var errs []error
	for i := range r.Spec.Limits {
		it := &r.Spec.Limits[i]
		switch it.Type {
		case corev1.LimitTypeContainer:
			for _, cs := range [][]corev1.Container{p.Spec.Containers, p.Spec.InitContainers} {
				for j := range cs {
					errs = append(errs, bounds(it, cs[j].Resources.Requests, cs[j].Resources.Limits)...)
				}
			}
		case corev1.LimitTypePod:
			requests, limits := podspec.WithoutOverhead(&p.Spec)
			errs = append(errs, bounds(it, requests, limits)...)
		}
	}
	return errs
}

func names(l corev1.ResourceList) []corev1.ResourceName {
	out := make([]corev1.ResourceName, 0, len(l))
	for k := range l {
		out = append(out, k)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// bounds checks requests and limits against minimum, maximum and ratio of an item.
func bounds(it *corev1.LimitRangeItem, requests, limits corev1.ResourceList) []error {
	var errs []error
	for _, name := range names(it.Min) {
		errs = append(errs, atLeast(it, name, requests, limits)...)
	}
	for _, name := range names(it.Max) {
		errs = append(errs, atMost(it, name, requests, limits)...)
	}
	for _, name := range names(it.MaxLimitRequestRatio) {
		errs = append(errs, withinRatio(it, name, requests, limits)...)
	}
	return errs
}

func atLeast(it *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) []error {
	least := it.Min[name]
	req, ok := requests[name]
	if !ok {
		return []error{fmt.Errorf("minimum %s usage per %s is %s.  No request is specified", name, it.Type,
			least.String())}
	}
	if req.Cmp(least) < 0 {
		return []error{fmt.Errorf("minimum %s usage per %s is %s, but request is %s", name, it.Type, least.String(),
			req.String())}
	}
	if lim, ok := limits[name]; ok && lim.Cmp(least) < 0 {
		return []error{fmt.Errorf("minimum %s usage per %s is %s, but limit is %s", name, it.Type, least.String(),
			lim.String())}
	}
	return nil
}

func atMost(it *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) []error {
	most := it.Max[name]
	lim, ok := limits[name]
	if !ok {
		return []error{fmt.Errorf("maximum %s usage per %s is %s.  No limit is specified", name, it.Type,
			most.String())}
	}
	if lim.Cmp(most) > 0 {
		return []error{fmt.Errorf("maximum %s usage per %s is %s, but limit is %s", name, it.Type, most.String(),
			lim.String())}
	}
	if req, ok := requests[name]; ok && req.Cmp(most) > 0 {
		return []error{fmt.Errorf("maximum %s usage per %s is %s, but request is %s", name, it.Type, most.String(),
			req.String())}
	}
	return nil
}

func withinRatio(it *corev1.LimitRangeItem, name corev1.ResourceName, requests, limits corev1.ResourceList) []error {
	ratio := it.MaxLimitRequestRatio[name]
	req, hasReq := requests[name]
	lim, hasLim := limits[name]
	switch {
	case !hasReq || req.IsZero():
		return []error{fmt.Errorf("%s max limit to request ratio per %s is %s, but no request is specified or "+
			"request is 0", name, it.Type, ratio.String())}
	case !hasLim || lim.IsZero():
		return []error{fmt.Errorf("%s max limit to request ratio per %s is %s, but no limit is specified or limit is 0", name,
			it.Type, ratio.String())}
	}
	if is := quotient(lim, req); is > ratio.AsApproximateFloat64() {
		return []error{fmt.Errorf("%s max limit to request ratio per %s is %s, but provided ratio is %f", name,
			it.Type, ratio.String(), is)}
	}
	return nil
}

func quotient(a, b resource.Quantity) float64 {
	return a.AsApproximateFloat64() / b.AsApproximateFloat64()
}
