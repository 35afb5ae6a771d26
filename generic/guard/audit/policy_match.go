package audit

import (
	"slices"
	"strings"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// Decision is the result of a policy for one request.
type Decision struct {
	Level             Level
	OmitManagedFields bool

	policyOmits, ruleOmits []Stage
}

// Omits reports whether no event is emitted at a stage.
func (d *Decision) Omits(s Stage) bool {
	return slices.Contains(d.policyOmits, s) || slices.Contains(d.ruleOmits, s)
}

// Decide returns the decision for a request. a.User is nil if authentication failed.
func (p *Policy) Decide(a *authorizer.Attributes) Decision {
	for i := range p.Rules {
		r := &p.Rules[i]
		if !r.matches(a) {
			continue
		}
		d := Decision{Level: r.Level, OmitManagedFields: p.OmitManagedFields, policyOmits: p.OmitStages,
			ruleOmits: r.OmitStages}
		if r.OmitManagedFields != nil {
			d.OmitManagedFields = *r.OmitManagedFields
		}
		return d
	}
	return Decision{Level: LevelNone}
}

func (r *PolicyRule) matches(a *authorizer.Attributes) bool {
	if !r.matchesUser(a.User) || len(r.Verbs) > 0 && !slices.Contains(r.Verbs, a.Verb) {
		return false
	}
	switch {
	case len(r.Resources) > 0 || len(r.Namespaces) > 0:
		return a.ResourceRequest && r.matchesResource(a)
	case len(r.NonResourceURLs) > 0:
		return !a.ResourceRequest && slices.ContainsFunc(r.NonResourceURLs,
			func(u string) bool { return matchesPath(u, a.Path) })
	}
	return true
}

func (r *PolicyRule) matchesUser(u *user.Info) bool {
	if len(r.Users) == 0 && len(r.UserGroups) == 0 {
		return true
	}
	if u == nil || len(r.Users) > 0 && !slices.Contains(r.Users, u.Name) {
		return false
	}
	return len(r.UserGroups) == 0 || slices.ContainsFunc(r.UserGroups, u.InGroup)
}

func (r *PolicyRule) matchesResource(a *authorizer.Attributes) bool {
	if len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, a.Namespace) {
		return false
	}
	if len(r.Resources) == 0 {
		return true
	}
	for i := range r.Resources {
		if r.Resources[i].matches(a) {
			return true
		}
	}
	return false
}

func (g *GroupResources) matches(a *authorizer.Attributes) bool {
	if g.Group != a.APIGroup && g.Group != anyGroup || len(g.ResourceNames) > 0 &&
		!slices.Contains(g.ResourceNames, a.Name) {
		return false
	}
	if len(g.Resources) == 0 {
		return true
	}
	for _, pattern := range g.Resources {
		if matchesName(pattern, a.Resource, a.Subresource) {
			return true
		}
	}
	return false
}

// matchesName reports whether a pattern matches a resource and its subresource.
func matchesName(pattern, resource, subresource string) bool {
	if pattern == "*" {
		return true
	}
	name, sub, below := strings.Cut(pattern, "/")
	switch {
	case !below:
		return subresource == "" && name == resource
	case sub == "*":
		return name == resource
	case name == "*" && subresource != "":
		return sub == subresource
	}
	return subresource != "" && name == resource && sub == subresource
}

func matchesPath(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == path
}
