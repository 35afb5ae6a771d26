package flowcontrol

import (
	"cmp"
	"slices"
	"strings"

	flowv1 "k8s.io/api/flowcontrol/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// schema is a FlowSchema with an existing priority level.
type schema struct {
	name  string
	order int32
	rules []flowv1.PolicyRulesWithSubjects
	by    flowv1.FlowDistinguisherMethodType
	level *level
	flow  *flowStats
	// nominal is the number of the level's nominal seats.
	nominal int
	// uid and levelUID are header values; nil if the object is not stored.
	uid, levelUID []string
}

// sortSchemas sorts schemas in the order in which they are tried: by precedence, then by name.
func sortSchemas(all []*schema) {
	slices.SortFunc(all, func(a, b *schema) int {
		return cmp.Or(cmp.Compare(a.order, b.order), strings.Compare(a.name, b.name))
	})
}

// matches reports whether one of the schema's rules matches the request.
func (s *schema) matches(u *user.Info, info *request.Info) bool {
	for i := range s.rules {
		r := &s.rules[i]
		if anySubject(r.Subjects, u) && ruleCovers(r, info) {
			return true
		}
	}
	return false
}

// distinguisher returns the name of the request's flow within the schema.
func (s *schema) distinguisher(u *user.Info, info *request.Info) string {
	switch s.by {
	case flowv1.FlowDistinguisherMethodByUserType:
		return u.Name
	case flowv1.FlowDistinguisherMethodByNamespaceType:
		return info.Namespace
	}
	return ""
}

func anySubject(subjects []flowv1.Subject, u *user.Info) bool {
	for i := range subjects {
		if subjectIs(&subjects[i], u) {
			return true
		}
	}
	return false
}

func subjectIs(s *flowv1.Subject, u *user.Info) bool {
	switch {
	case s.Kind == flowv1.SubjectKindUser && s.User != nil:
		return s.User.Name == flowv1.NameAll || s.User.Name == u.Name
	case s.Kind == flowv1.SubjectKindGroup && s.Group != nil:
		return s.Group.Name == flowv1.NameAll || u.InGroup(s.Group.Name)
	case s.Kind == flowv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		return accountIs(s.ServiceAccount, u.Name)
	}
	return false
}

func accountIs(s *flowv1.ServiceAccountSubject, userName string) bool {
	rest, ok := strings.CutPrefix(userName, user.ServiceAccountUser)
	if !ok {
		return false
	}
	namespace, name, ok := strings.Cut(rest, ":")
	return ok && namespace == s.Namespace && (s.Name == flowv1.NameAll || s.Name == name)
}

func ruleCovers(r *flowv1.PolicyRulesWithSubjects, info *request.Info) bool {
	if !info.IsResourceRequest {
		return slices.ContainsFunc(r.NonResourceRules, func(n flowv1.NonResourcePolicyRule) bool {
			return hasOrAll(n.Verbs, info.Verb) && anyPathCovers(n.NonResourceURLs, info.Path)
		})
	}
	for i := range r.ResourceRules {
		if resourceRuleCovers(&r.ResourceRules[i], info) {
			return true
		}
	}
	return false
}

func resourceRuleCovers(r *flowv1.ResourcePolicyRule, info *request.Info) bool {
	if !hasOrAll(r.Verbs, info.Verb) || !hasOrAll(r.APIGroups, info.APIGroup) || !anyResourceIs(r.Resources, info) {
		return false
	}
	if info.Namespace == "" {
		return r.ClusterScope
	}
	return hasOrAll(r.Namespaces, info.Namespace)
}

// anyResourceIs compares "pods" and "pods/status" with the resource of a request without allocating.
func anyResourceIs(resources []string, info *request.Info) bool {
	for _, r := range resources {
		if r == flowv1.ResourceAll {
			return true
		}
		rest, ok := strings.CutPrefix(r, info.Resource)
		switch {
		case !ok:
		case info.Subresource == "" && rest == "":
			return true
		case info.Subresource != "" && len(rest) == len(info.Subresource)+1 && rest[0] == '/' && rest[1:] == info.Subresource:
			return true
		}
	}
	return false
}

func hasOrAll(list []string, s string) bool {
	return slices.Contains(list, s) || slices.Contains(list, "*")
}

// anyPathCovers reports whether a path is in rules. A rule that ends in "*" is a prefix.
func anyPathCovers(rules []string, path string) bool {
	for _, r := range rules {
		if prefix, ok := strings.CutSuffix(r, "*"); r == path || ok && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
