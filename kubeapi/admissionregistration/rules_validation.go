package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
)

const all = "*"

func validateOperations(r *admissionv1.RuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	ops := path.Child("operations")
	if len(r.Operations) == 0 {
		errs = append(errs, field.Required(ops, ""))
	}
	if len(r.Operations) > 1 && slices.Contains(r.Operations, admissionv1.OperationAll) {
		errs = append(errs, field.Invalid(ops, r.Operations, "if '*' is present, must not specify other operations"))
	}
	for i, o := range r.Operations {
		errs = append(errs, check.OneOf(o, ops.Index(i), admissionv1.OperationAll, admissionv1.Connect, admissionv1.Create,
			admissionv1.Delete, admissionv1.Update)...)
	}
	return append(errs, validateRule(&r.Rule, path)...)
}

func validateRule(r *admissionv1.Rule, path *field.Path) field.ErrorList {
	errs := validateList(r.APIGroups, "API groups", true, path.Child("apiGroups"))
	errs = append(errs, validateList(r.APIVersions, "API versions", false, path.Child("apiVersions"))...)
	errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
	if r.Scope != nil {
		errs = append(errs, check.OneOf(*r.Scope, path.Child("scope"), admissionv1.AllScopes, admissionv1.ClusterScope,
			admissionv1.NamespacedScope)...)
	}
	return errs
}

func validateList(list []string, what string, allowEmpty bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(list) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	if len(list) > 1 && slices.Contains(list, all) {
		errs = append(errs, field.Invalid(path, list, "if '*' is present, must not specify other "+what))
	}
	for i, v := range list {
		if v == "" && !allowEmpty {
			errs = append(errs, field.Required(path.Index(i), ""))
		}
	}
	return errs
}

// validateResources finds fault with what follows a wildcard that includes it;
// what precedes the wildcard is superfluous, and allowed.
func validateResources(list []string, path *field.Path) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	allOf, everywhere := map[string]bool{}, map[string]bool{}
	every, plain := false, false
	for i, r := range list {
		if r == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		}
		resource, sub, ok := strings.Cut(r, "/")
		if !ok {
			every = every || r == all
			plain = plain || every && r != all
			continue
		}
		if allOf[resource] {
			errs = append(errs, field.Invalid(path.Index(i), r, fmt.Sprintf("if '%s/*' is present, must not specify %s",
				resource, r)))
		}
		if everywhere[sub] {
			errs = append(errs, field.Invalid(path.Index(i), r,
				fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, r)))
		}
		allOf[resource] = allOf[resource] || sub == all
		everywhere[sub] = everywhere[sub] || resource == all
	}
	if len(list) > 1 && slices.Contains(list, "*/*") {
		errs = append(errs, field.Invalid(path, list, "if '*/*' is present, must not specify other resources"))
	}
	if plain {
		errs = append(errs, field.Invalid(path, list,
			"if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}

func defaultMatch(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	defaults.Set(&m.MatchPolicy, admissionv1.Equivalent)
	defaultSelectors(&m.NamespaceSelector, &m.ObjectSelector)
	for _, rules := range [][]admissionv1.NamedRuleWithOperations{m.ResourceRules, m.ExcludeResourceRules} {
		for i := range rules {
			defaultRule(&rules[i].Rule)
		}
	}
}

func validateMatch(m *admissionv1.MatchResources, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.MatchPolicy == nil {
		errs = append(errs, field.Required(path.Child("matchPolicy"), ""))
	} else {
		errs = append(errs, check.OneOf(*m.MatchPolicy, path.Child("matchPolicy"), admissionv1.Equivalent,
			admissionv1.Exact)...)
	}
	errs = append(errs, validateSelector(m.NamespaceSelector, path.Child("namespaceSelector"))...)
	errs = append(errs, validateSelector(m.ObjectSelector, path.Child("objectSelector"))...)
	for _, l := range []struct {
		name  string
		rules []admissionv1.NamedRuleWithOperations
	}{{"resourceRules", m.ResourceRules}, {"excludeResourceRules", m.ExcludeResourceRules}} {
		for i := range l.rules {
			errs = append(errs, validateNamedRule(&l.rules[i], path.Child(l.name).Index(i))...)
		}
	}
	return errs
}

// validateMutable validates that the operations are such that an object can be
// changed by.
func validateMutable(m *admissionv1.MatchResources, path *field.Path) field.ErrorList {
	if m == nil {
		return nil
	}
	var errs field.ErrorList
	for i := range m.ResourceRules {
		for _, o := range m.ResourceRules[i].Operations {
			errs = append(errs, check.OneOf(o, path.Child("resourceRules", "operations"), admissionv1.OperationAll,
				admissionv1.Connect, admissionv1.Create, admissionv1.Update)...)
		}
	}
	return errs
}

func validateNamedRule(r *admissionv1.NamedRuleWithOperations, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := path.Child("resourceNames")
	seen := map[string]bool{}
	for i, n := range r.ResourceNames {
		errs = append(errs, check.PathSegment(n, names.Index(i))...)
		if seen[n] {
			errs = append(errs, field.Duplicate(names.Index(i), n))
		}
		seen[n] = true
	}
	return append(errs, validateOperations(&r.RuleWithOperations, path)...)
}
