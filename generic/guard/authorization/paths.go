package authorization

import (
	"context"

	"triplane.dev/generic/base/authorizer"
)

// Paths allows everyone all verbs at non-resource paths: "/healthz" is one path, "/healthz/*" all paths below
// it.
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
