package rbac

import (
	"context"
	"fmt"
	"time"
)

// firstSync bounds how long decisions wait for the objects on which they depend.
const firstSync = 10 * time.Second

// OnDemand reports whether Follow begins with the first decision: that of an Authorizer of Over.
func (a *Authorizer) OnDemand() bool { return a.demand != nil }

// await returns when decisions can be made, or an error if they cannot.
func (a *Authorizer) await(ctx context.Context) error {
	if a.demand == nil {
		return nil
	}
	if err := a.demand.Wait(ctx, firstSync); err != nil {
		return fmt.Errorf("RBAC: the roles and bindings are not known yet: %w", err)
	}
	return nil
}
