package rbac

import "triplane.dev/generic/base/authorizer"

func anyPathCovers(rules []string, path string) bool {
	for _, r := range rules {
		if authorizer.PathMatches(r, path) {
			return true
		}
	}
	return false
}
