package authorization

import (
	"context"

	"triplane/generic/base/authorizer"
)

// Paths lets everybody do everything at paths that are no resources: "/healthz" is that path,
// "/healthz/*" all below it.
type Paths []string

// Authorize implements authorizer.Authorizer.
func (p Paths) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.ResourceRequest {
		return authorizer.NoOpinion, "", nil
	}
	for _, path := range p {
		if authorizer.PathMatches(path, a.Path) {
			return authorizer.Allow, "", nil
		}
	}
	return authorizer.NoOpinion, "", nil
}
