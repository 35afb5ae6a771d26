package core

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/rest"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/quota"
)

func quotaAmounts(l corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(l) {
		p, value := path.Key(string(name)), l[name]
		errs = append(errs, podspec.ResourceName(string(name), p)...)
		if !strings.Contains(string(name), "/") && !quota.Standard(name) {
			errs = append(errs, field.Invalid(p, string(name), "must be a standard resource for quota"))
		}
		errs = append(errs, podspec.Quantity(string(name), &value, p)...)
	}
	return errs
}

func quotaStatus(q *corev1.ResourceQuota) field.ErrorList {
	s := &q.Status
	errs := quotaAmounts(s.Hard, field.NewPath("status", "hard"))
	return append(errs, quotaAmounts(s.Used, field.NewPath("status", "used"))...)
}

func quotaSpec(q *corev1.ResourceQuota) field.ErrorList {
	s, path := &q.Spec, field.NewPath("spec")
	errs := quotaAmounts(s.Hard, path.Child("hard"))
	errs = append(errs, quotaScopes(s, path.Child("scopes"))...)
	if s.ScopeSelector != nil {
		errs = append(errs, quotaScopeSelector(s, path.Child("scopeSelector", "matchExpressions"))...)
	}
	return errs
}

func quotaScopes(s *corev1.ResourceQuotaSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	unfit := misfits(s.Hard)
	for _, scope := range s.Scopes {
		if !quota.KnownScope(scope) {
			errs = append(errs, field.Invalid(path, s.Scopes, "unsupported scope"))
		}
		for range unfit(scope) {
			errs = append(errs, field.Invalid(path, s.Scopes, "unsupported scope applied to resource"))
		}
		if len(errs) >= rest.MaxCauses {
			return errs
		}
	}
	return append(errs, conflictingScopes(sets.New(s.Scopes...), s.Scopes, path)...)
}

// misfits counts the resources that a scope cannot count; more than an answer shows do not matter.
func misfits(hard corev1.ResourceList) func(corev1.ResourceQuotaScope) int {
	known := map[corev1.ResourceQuotaScope]int{}
	return func(scope corev1.ResourceQuotaScope) int {
		n, ok := known[scope]
		if !ok {
			for name := range hard {
				if quota.Standard(name) && !quota.ScopeFits(scope, name) && n < rest.MaxCauses {
					n++
				}
			}
			known[scope] = n
		}
		return n
	}
}

func conflictingScopes(given sets.Set[corev1.ResourceQuotaScope], shown []corev1.ResourceQuotaScope,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, pair := range [][2]corev1.ResourceQuotaScope{
		{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort},
		{corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating},
	} {
		if given.HasAll(pair[:]...) {
			errs = append(errs, field.Invalid(path, shown, "conflicting scopes"))
		}
	}
	return errs
}

// onlyExists are the scopes that an object is in or not, without a value.
var onlyExists = sets.New(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating,
	corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
	corev1.ResourceQuotaScopeCrossNamespacePodAffinity)

func quotaScopeSelector(s *corev1.ResourceQuotaSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	given, unfit := sets.New[corev1.ResourceQuotaScope](), misfits(s.Hard)
	for i := range s.ScopeSelector.MatchExpressions {
		r := &s.ScopeSelector.MatchExpressions[i]
		given.Insert(r.ScopeName)
		if !quota.KnownScope(r.ScopeName) {
			errs = append(errs, field.Invalid(path.Child("scopeName"), r.ScopeName, "unsupported scope"))
		}
		for range unfit(r.ScopeName) {
			errs = append(errs, field.Invalid(path, s.ScopeSelector, "unsupported scope applied to resource"))
		}
		if onlyExists.Has(r.ScopeName) && r.Operator != corev1.ScopeSelectorOpExists {
			errs = append(errs, field.Invalid(path.Child("operator"), r.Operator,
				"must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "+
					"ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"))
		}
		errs = append(errs, quotaOperator(r, path)...)
		if len(errs) >= rest.MaxCauses {
			return errs
		}
	}
	return append(errs, conflictingScopes(given, s.Scopes, path)...)
}

func quotaOperator(r *corev1.ScopedResourceSelectorRequirement, path *field.Path) field.ErrorList {
	switch r.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(r.Values) == 0 {
			return field.ErrorList{field.Required(path.Child("values"),
				"must be at least one value when `operator` is 'In' or 'NotIn' for scope selector")}
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		if len(r.Values) != 0 {
			return field.ErrorList{field.Invalid(path.Child("values"), r.Values,
				"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")}
		}
	default:
		return field.ErrorList{field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator")}
	}
	return nil
}

// quotaScopesKept refuses a change of what a quota counts.
func quotaScopesKept(q, old *corev1.ResourceQuota) field.ErrorList {
	now, before := sets.New(q.Spec.Scopes...), sets.New(old.Spec.Scopes...)
	if now.Equal(before) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "scopes"), q.Spec.Scopes, check.ImmutableMsg)}
}
