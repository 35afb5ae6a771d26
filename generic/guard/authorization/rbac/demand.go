package rbac

import (
	"context"
	"errors"
	"sync"
	"time"
)

// demandTimeout bounds how long a decision waits for the objects on which it depends.
const demandTimeout = 10 * time.Second

var errUnknown = errors.New("RBAC: the roles and bindings are not known yet")

// demand makes an Authorizer follow its objects from the first decision on.
type demand struct {
	once sync.Once
	made chan struct{} // closed by the first decision
	met  chan struct{} // closed when decisions can be made
}

func newDemand() *demand { return &demand{made: make(chan struct{}), met: make(chan struct{})} }

// OnDemand reports whether Follow begins with the first decision: that of an Authorizer of Over.
func (a *Authorizer) OnDemand() bool { return a.demand != nil }

// await returns when decisions can be made, or an error if they cannot.
func (a *Authorizer) await(ctx context.Context) error {
	d := a.demand
	if d == nil {
		return nil
	}
	select {
	case <-d.met:
		return nil
	default:
	}
	d.once.Do(func() { close(d.made) })
	ctx, cancel := context.WithTimeoutCause(ctx, demandTimeout, errUnknown)
	defer cancel()
	select {
	case <-d.met:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
