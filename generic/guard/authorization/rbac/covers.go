package rbac

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Covers reports whether owner's rules allow everything that requested allows. uncovered are the missing
// permissions, each for a single verb, group, resource and name.
func Covers(owner, requested []rbacv1.PolicyRule) (covered bool, uncovered []rbacv1.PolicyRule) {
	for i := range requested {
		for _, single := range breakDown(&requested[i]) {
			if !anyCovers(owner, &single) {
				uncovered = append(uncovered, single)
			}
		}
	}
	return len(uncovered) == 0, uncovered
}

// breakDown splits a rule into single permissions.
func breakDown(r *rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				single := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: []string{verb}}
				if len(r.ResourceNames) == 0 {
					all = append(all, single)
				}
				for _, n := range r.ResourceNames {
					single.ResourceNames = []string{n}
					all = append(all, single)
				}
			}
		}
	}
	for _, url := range r.NonResourceURLs {
		for _, verb := range r.Verbs {
			all = append(all, rbacv1.PolicyRule{NonResourceURLs: []string{url}, Verbs: []string{verb}})
		}
	}
	return all
}

func anyCovers(owner []rbacv1.PolicyRule, single *rbacv1.PolicyRule) bool {
	for i := range owner {
		if ruleCovers(&owner[i], single) {
			return true
		}
	}
	return false
}

// ruleCovers reports whether owner allows a single permission.
func ruleCovers(owner, single *rbacv1.PolicyRule) bool {
	if !hasOrAll(owner.Verbs, single.Verbs[0]) {
		return false
	}
	if len(single.NonResourceURLs) > 0 {
		return anyPathCovers(owner.NonResourceURLs, single.NonResourceURLs[0])
	}
	_, subresource, _ := strings.Cut(single.Resources[0], "/")
	if !hasOrAll(owner.APIGroups, single.APIGroups[0]) || !resourceMatches(owner.Resources, single.Resources[0],
		subresource) {
		return false
	}
	if len(owner.ResourceNames) == 0 {
		return true
	}
	return len(single.ResourceNames) > 0 && slices.Contains(owner.ResourceNames, single.ResourceNames[0])
}

// Compact merges the verbs of single permissions for the same resource, object or path. The order is stable.
func Compact(singles []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	type what struct{ group, resource, name string }
	at := map[what]int{}
	var compact []rbacv1.PolicyRule
	for _, r := range singles {
		if len(r.APIGroups) != 1 || len(r.Resources) != 1 || len(r.ResourceNames) > 1 || len(r.NonResourceURLs) > 0 {
			compact = append(compact, r)
			continue
		}
		w := what{group: r.APIGroups[0], resource: r.Resources[0]}
		if len(r.ResourceNames) == 1 {
			w.name = r.ResourceNames[0]
		}
		if i, ok := at[w]; ok {
			compact[i].Verbs = appendNew(compact[i].Verbs, r.Verbs)
			continue
		}
		at[w] = len(compact)
		r.Verbs = append([]string(nil), r.Verbs...)
		compact = append(compact, r)
	}
	return compact
}

func appendNew(verbs, more []string) []string {
	for _, v := range more {
		if !slices.Contains(verbs, v) {
			verbs = append(verbs, v)
		}
	}
	return verbs
}

// Describe formats rules for the error of a privilege escalation: compacted, sorted, one per line.
func Describe(rules []rbacv1.PolicyRule) string {
	var lines []string
	for _, r := range Compact(rules) {
		lines = append(lines, describeRule(r))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

func describeRule(r rbacv1.PolicyRule) string {
	var parts []string
	for _, p := range []struct {
		label  string
		values []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(p.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", p.label, p.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}
