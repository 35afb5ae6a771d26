package flowcontrol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/kubeapi/check"
)

const maxPrecedence = 10000

func flowSchemaKind() kind.Kind[*flowv1.FlowSchema] {
	type flow = *flowv1.FlowSchema
	return kind.Kind[flow]{
		Representation: kind.Typed[flow]{Former: kind.SameFields[flow]("v1beta3", "v1beta2", "v1beta1"),
			MetadataOnStatus: kind.MetadataOnce},
		Write: kind.Write[flow]{
			Default:          defaultFlow,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			Validate: kind.Whole(validateFlow),
		},
		Columns: append(show.Columns(show.Field("PriorityLevel", "spec.priorityLevelConfiguration.name"),
			show.AsText(show.Path("spec.matchingPrecedence")),
			show.FieldOr("DistinguisherMethod", "spec.distinguisherMethod.type", show.None,
				".spec.distinguisherMethod")),
			show.Cell("MissingPL", "references a broken or non-existent PriorityLevelConfiguration", missingLevel)),
		Show: kind.Show[flow]{
			Compare: func(a, b flow) int {
				return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
			},
		},
		Status: &kind.Subresource[flow]{Metadata: kind.WholeMetadata, Validate: kind.Whole(validateFlowStatus)},
	}
}

func validateFlow(f *flowv1.FlowSchema) field.ErrorList {
	s, path := &f.Spec, field.NewPath("spec")
	errs := validateFlowSpec(f.Name, s, path)
	for _, m := range flowcontrol.DefaultSchemas() {
		if m.Name == f.Name && (f.Name == exempt || f.Name == catchAll) {
			errs = append(errs, mustEqual(f.Name, *s, m.Spec)...)
		}
	}
	return errs
}

func validateFlowSpec(name string, s *flowv1.FlowSchemaSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	precedence := path.Child("matchingPrecedence")
	if s.MatchingPrecedence <= 0 {
		errs = append(errs, field.Invalid(precedence, s.MatchingPrecedence, "must be a positive value"))
	}
	if s.MatchingPrecedence > maxPrecedence {
		errs = append(errs, field.Invalid(precedence, s.MatchingPrecedence, fmt.Sprintf("must not be greater than %v",
			maxPrecedence)))
	}
	if s.MatchingPrecedence == 1 && name != exempt {
		errs = append(errs, field.Invalid(precedence, s.MatchingPrecedence,
			"only the schema named 'exempt' may have matchingPrecedence 1"))
	}
	if m := s.DistinguisherMethod; m != nil {
		supported := []flowv1.FlowDistinguisherMethodType{flowv1.FlowDistinguisherMethodByNamespaceType,
			flowv1.FlowDistinguisherMethodByUserType}
		if !slices.Contains(supported, m.Type) {
			errs = append(errs, field.NotSupported(path.Child("distinguisherMethod", "type"), *m, supported))
		}
	}
	level := path.Child("priorityLevelConfiguration", "name")
	if n := s.PriorityLevelConfiguration.Name; n == "" {
		errs = append(errs, field.Required(level, "must reference a priority level"))
	} else {
		errs = append(errs, check.Subdomain(n, level)...)
	}
	for i := range s.Rules {
		errs = append(errs, validateFlowRule(&s.Rules[i], path.Child("rules").Index(i))...)
	}
	return errs
}

func validateFlowRule(r *flowv1.PolicyRulesWithSubjects, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.Subjects) == 0 {
		errs = append(errs, field.Required(path.Child("subjects"), "subjects must contain at least one value"))
	}
	for i := range r.Subjects {
		errs = append(errs, validateFlowSubject(&r.Subjects[i], path.Child("subjects").Index(i))...)
	}
	if len(r.ResourceRules) == 0 && len(r.NonResourceRules) == 0 {
		errs = append(errs, field.Required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
	}
	for i := range r.ResourceRules {
		errs = append(errs, validateFlowResources(&r.ResourceRules[i], path.Child("resourceRules").Index(i))...)
	}
	for i := range r.NonResourceRules {
		errs = append(errs, validateFlowPaths(&r.NonResourceRules[i], path.Child("nonResourceRules").Index(i))...)
	}
	return errs
}

func validateFlowSubject(s *flowv1.Subject, path *field.Path) field.ErrorList {
	parts := []struct {
		kind flowv1.SubjectKind
		name string
		set  bool
	}{
		{flowv1.SubjectKindServiceAccount, "serviceAccount", s.ServiceAccount != nil},
		{flowv1.SubjectKindUser, "user", s.User != nil},
		{flowv1.SubjectKindGroup, "group", s.Group != nil},
	}
	var own, others field.ErrorList
	known := false
	for _, p := range parts {
		switch {
		case s.Kind != p.kind:
			if p.set {
				others = append(others, field.Forbidden(path.Child(p.name),
					fmt.Sprintf("%s is forbidden when subject kind is not '%s'", p.name, p.kind)))
			}
			continue
		case !p.set:
			own = append(own, field.Required(path.Child(p.name), fmt.Sprintf("%s is required when subject kind is '%s'",
				p.name, p.kind)))
		}
		known = true
	}
	if !known {
		return field.ErrorList{field.NotSupported(path.Child("kind"), s.Kind, []flowv1.SubjectKind{flowv1.SubjectKindGroup,
			flowv1.SubjectKindServiceAccount, flowv1.SubjectKindUser})}
	}
	switch {
	case s.Kind == flowv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		own = validateFlowAccount(s.ServiceAccount, path.Child("serviceAccount"))
	case s.Kind == flowv1.SubjectKindUser && s.User != nil && s.User.Name == "":
		own = append(own, field.Required(path.Child("user", "name"), ""))
	case s.Kind == flowv1.SubjectKindGroup && s.Group != nil && s.Group.Name == "":
		own = append(own, field.Required(path.Child("group", "name"), ""))
	}
	return append(own, others...)
}

func validateFlowAccount(a *flowv1.ServiceAccountSubject, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if a.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else if a.Name != flowv1.NameAll {
		errs = append(errs, check.Subdomain(a.Name, path.Child("name"))...)
	}
	if a.Namespace == "" {
		return append(errs, field.Required(path.Child("namespace"), "must specify namespace for service account"))
	}
	return append(errs, check.Label(a.Namespace, path.Child("namespace"))...)
}

func verbs() []string {
	return []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}
}

func validateVerbs(list []string, path *field.Path) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "verbs must contain at least one value")}
	}
	if slices.Contains(list, flowv1.VerbAll) {
		return alone(list, "verbs", path)
	}
	for _, v := range list {
		if !slices.Contains(verbs(), v) {
			return field.ErrorList{field.NotSupported(path, list, verbs())}
		}
	}
	return nil
}

// alone refuses a wildcard that has company.
func alone(list []string, what string, path *field.Path) field.ErrorList {
	if slices.Contains(list, "*") && len(list) > 1 {
		return field.ErrorList{field.Invalid(path, list, fmt.Sprintf("if '*' is present, must not specify other %s", what))}
	}
	return nil
}

func validateFlowResources(r *flowv1.ResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(r.Verbs, path.Child("verbs"))
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	errs = append(errs, alone(r.APIGroups, "api groups", path.Child("apiGroups"))...)
	if len(r.Resources) == 0 {
		errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	errs = append(errs, alone(r.Resources, "resources", path.Child("resources"))...)
	namespaces := path.Child("namespaces")
	if len(r.Namespaces) == 0 && !r.ClusterScope {
		return append(errs, field.Required(namespaces,
			"resource rules that are not cluster scoped must supply at least one namespace"))
	}
	if slices.Contains(r.Namespaces, flowv1.NamespaceEvery) {
		return append(errs, alone(r.Namespaces, "namespaces", namespaces)...)
	}
	for i, n := range r.Namespaces {
		for _, m := range validation.IsDNS1123Label(n) {
			errs = append(errs, field.Invalid(namespaces.Index(i), n,
				"each member of this list must be '*' or a DNS-1123 label; "+m))
		}
	}
	return errs
}

func validateFlowPaths(r *flowv1.NonResourcePolicyRule, path *field.Path) field.ErrorList {
	errs := validateVerbs(r.Verbs, path.Child("verbs"))
	urls := path.Child("nonResourceURLs")
	if len(r.NonResourceURLs) == 0 {
		return append(errs, field.Required(urls, "nonResourceURLs must contain at least one value"))
	}
	if slices.Contains(r.NonResourceURLs, flowv1.NonResourceAll) {
		return append(errs, alone(r.NonResourceURLs, "non-resource URLs", urls)...)
	}
	for i, u := range r.NonResourceURLs {
		if msg := urlFault(u); msg != "" {
			errs = append(errs, field.Invalid(urls.Index(i), u, msg))
		}
	}
	return errs
}

func urlFault(u string) string {
	switch {
	case u == "":
		return "must not be empty"
	case u == "/":
		return ""
	case !strings.HasPrefix(u, "/"):
		return "must start with slash"
	case strings.Contains(u, " "):
		return "must not contain white-space"
	case strings.Contains(u, "//"):
		return "must not contain double slash"
	}
	if i := strings.Index(u, "*"); i >= 0 && (i != len(u)-1 || !strings.HasSuffix(u, "/*")) {
		return "wildcard can only do suffix matching"
	}
	return ""
}

func defaultFlow(f *flowv1.FlowSchema) {
	f.Spec.MatchingPrecedence = cmp.Or(f.Spec.MatchingPrecedence, 1000)
}

func missingLevel(f *flowv1.FlowSchema) string {
	missing := "?"
	for _, c := range f.Status.Conditions {
		if c.Type == flowv1.FlowSchemaConditionDangling {
			missing = string(c.Status)
		}
	}
	return missing
}

func validateFlowStatus(o *flowv1.FlowSchema) field.ErrorList {
	types := make([]string, len(o.Status.Conditions))
	for i := range types {
		types[i] = string(o.Status.Conditions[i].Type)
	}
	return check.ConditionsUnique(types, field.NewPath("status", "conditions"))
}
