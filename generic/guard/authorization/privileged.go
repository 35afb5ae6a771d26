package authorization

import (
	"context"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// PrivilegedGroups allows members of the groups every request.
type PrivilegedGroups []string

// SystemMasters returns the group system:masters, which no other authorizer can restrict.
func SystemMasters() PrivilegedGroups { return PrivilegedGroups{user.SystemPrivileged} }

// Authorize implements authorizer.Authorizer.
func (p PrivilegedGroups) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.User != nil {
		for _, g := range p {
			if a.User.InGroup(g) {
				return authorizer.Allow, "", nil
			}
		}
	}
	return authorizer.NoOpinion, "", nil
}
