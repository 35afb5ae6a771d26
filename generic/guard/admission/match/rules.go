package match

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/guard/admission"
)

const all = "*"

// rule is a compiled RuleWithOperations.
type rule struct {
	operations []admissionv1.OperationType
	groups     []string
	versions   []string
	resources  []resource
	scope      admissionv1.ScopeType
	names      []string // empty means any
}

// resource is a "plural/subresource" pattern of a rule. Either part may be "*".
type resource struct{ plural, sub string }

func newRule(r *admissionv1.RuleWithOperations, names []string) rule {
	out := rule{operations: r.Operations, groups: r.APIGroups, versions: r.APIVersions, scope: admissionv1.AllScopes,
		names: names}
	if r.Scope != nil {
		out.scope = *r.Scope
	}
	for _, text := range r.Resources {
		plural, sub, _ := strings.Cut(text, "/")
		out.resources = append(out.resources, resource{plural, sub})
	}
	return out
}

func has(list []string, v string) bool {
	return len(list) > 0 && (list[0] == all || slices.Contains(list, v))
}

// matches reports whether everything but the group version matches.
func (r *rule) matches(a *admission.Attributes) bool {
	op := admissionv1.OperationType(a.Operation)
	if !slices.ContainsFunc(r.operations, func(o admissionv1.OperationType) bool {
		return o == op ||
			o == admissionv1.OperationAll
	}) {
		return false
	}
	if !slices.ContainsFunc(r.resources, func(x resource) bool {
		return (x.plural == all || x.plural == a.Resource.Resource) && (x.sub == all || x.sub == a.Subresource)
	}) {
		return false
	}
	if len(r.names) > 0 && !slices.Contains(r.names, a.Name) {
		return false
	}
	namespaced := a.Namespace != "" && !isNamespace(a)
	switch r.scope {
	case admissionv1.NamespacedScope:
		return namespaced
	case admissionv1.ClusterScope:
		return !namespaced
	}
	return true
}

func (r *rule) in(gv schema.GroupVersion) bool {
	return has(r.groups, gv.Group) && has(r.versions, gv.Version)
}

func isNamespace(a *admission.Attributes) bool {
	return a.Resource.Group == "" && a.Resource.Resource == "namespaces"
}

// find returns the group version in which a rule matches the operation. It prefers the requested version.
// Otherwise, unless exact, it returns another version in which the same objects are served.
func find(rules []rule, a *admission.Attributes, exact bool) (schema.GroupVersion, bool) {
	requested := a.Resource.GroupVersion()
	var candidates []*rule
	for i := range rules {
		r := &rules[i]
		if !r.matches(a) {
			continue
		}
		if r.in(requested) {
			return requested, true
		}
		candidates = append(candidates, r)
	}
	if exact || len(candidates) == 0 || a.Versions == nil {
		return requested, false
	}
	served := a.Versions.Served()
	for _, r := range candidates {
		for _, gv := range served {
			if r.in(gv) {
				return gv, true
			}
		}
	}
	return requested, false
}
