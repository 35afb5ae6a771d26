package authorizer

import (
	"path"
	"strings"
)

// PathMatches reports whether a rule for paths that are no resources covers a path. A rule that ends in "*"
// covers what begins like it, except the paths that only an exact rule grants (see exactOnly). Every authorizer
// with rules for paths matches them here, so that none grants more than another.
func PathMatches(rule, path string) bool {
	if rule == path {
		return true
	}
	prefix := strings.TrimRight(rule, "*")
	return prefix != rule && strings.HasPrefix(path, prefix) && !exactOnly(path)
}

// exactOnly reports whether a path returns everything that is stored, the keys of the cluster or the bodies of
// other users' requests. Roles for monitoring have wildcards for paths, and were not written for these.
func exactOnly(p string) bool {
	p = path.Clean("/" + p)
	return p == "/debug/audit" || (strings.HasPrefix(p, "/etcd/") && !strings.HasSuffix(p, "*"))
}
