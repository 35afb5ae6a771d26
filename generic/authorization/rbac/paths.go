package rbac

import "strings"

func anyPathCovers(rules []string, path string) bool {
	for _, r := range rules {
		if pathCovers(r, path) {
			return true
		}
	}
	return false
}

// pathCovers: a rule that ends in "*" covers what begins like it.
func pathCovers(rule, path string) bool {
	if rule == "*" || rule == path {
		return true
	}
	return strings.HasSuffix(rule, "*") && strings.HasPrefix(path, strings.TrimRight(rule, "*"))
}
