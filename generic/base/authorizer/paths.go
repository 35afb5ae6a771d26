package authorizer

import (
	"path"
	"strings"
)

// PathMatches reports whether a rule for non-resource URLs matches a path. A rule that ends in "*" is a prefix,
// except for paths that need an exact rule (see exactOnly). All authorizers with such rules use this function,
// so that none allows more than another.
func PathMatches(rule, path string) bool {
	if rule == path {
		return true
	}
	prefix := strings.TrimRight(rule, "*")
	return prefix != rule && strings.HasPrefix(path, prefix) && !exactOnly(path)
}

// exactOnly reports whether a path exposes everything in storage, the keys of the cluster, or the bodies of
// other users' requests. Wildcards in existing roles, for example for monitoring, do not match such a path.
func exactOnly(p string) bool {
	p = path.Clean("/" + p)
	return p == "/debug/audit" || (strings.HasPrefix(p, "/etcd/") && !strings.HasSuffix(p, "*")) ||
		p == "/testing/checkpoints" || strings.HasPrefix(p, "/testing/checkpoints/")
}
