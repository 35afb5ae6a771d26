package authorization

import (
	"context"
	"fmt"
	"strings"

	"triplane/generic/authorization/authorizer"
)

type paths struct {
	exact    map[string]bool
	prefixes []string
}

// AlwaysAllowPaths lets everybody use the given paths, with any method. A path
// that ends in "*" is a prefix; a leading slash makes no difference.
func AlwaysAllowPaths(allowed []string) (authorizer.Authorizer, error) {
	p := paths{exact: map[string]bool{}}
	for _, path := range allowed {
		path = strings.TrimPrefix(path, "/")
		prefix, isPrefix := strings.CutSuffix(path, "*")
		if strings.Contains(prefix, "*") {
			return nil, fmt.Errorf("only trailing * allowed in %q", path)
		}
		if isPrefix {
			p.prefixes = append(p.prefixes, prefix)
		} else {
			p.exact[path] = true
		}
	}
	return p, nil
}

// Authorize implements authorizer.Authorizer.
func (p paths) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.ResourceRequest {
		return authorizer.NoOpinion, "", nil
	}
	path := strings.TrimPrefix(a.Path, "/")
	if p.exact[path] {
		return authorizer.Allow, "", nil
	}
	for _, prefix := range p.prefixes {
		if strings.HasPrefix(path, prefix) {
			return authorizer.Allow, "", nil
		}
	}
	return authorizer.NoOpinion, "", nil
}
