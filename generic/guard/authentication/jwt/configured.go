package jwt

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"triplane.dev/generic/guard/authentication"
)

// readyWithin is how long the issuers of a new configuration have to respond before Replace fails.
const readyWithin = time.Minute

// Configured authenticates with the current configuration, which Replace changes.
type Configured struct {
	current atomic.Pointer[set]
	metrics *Metrics
	// anonymous is the default for configurations without the field anonymous.
	anonymous     bool
	anonymousUser authentication.Request
}

// NewConfigured returns authenticators for a first configuration. Run must be called. anonymous is whether
// anonymous requests are allowed if a configuration does not set it.
func NewConfigured(c *Compiled, anonymous bool, m *Metrics) *Configured {
	d := &Configured{metrics: m, anonymous: anonymous, anonymousUser: authentication.Anonymous()}
	d.current.Store(newSet(c, m))
	return d
}

// Run contacts the issuers, runs follow, and closes all connections when follow returns. follow may call
// Replace and must return when ctx ends; nil waits for the end of ctx.
func (d *Configured) Run(ctx context.Context, follow func(context.Context)) {
	d.current.Load().start()
	defer func() { d.current.Load().stop() }()
	if follow != nil {
		follow(ctx)
	}
	<-ctx.Done()
}

// Replace waits until all issuers of a configuration have responded and then applies it. If they do not respond
// within a minute, it returns an error and the current configuration stays in effect. Only follow of Run may
// call it.
func (d *Configured) Replace(ctx context.Context, c *Compiled) error {
	next := newSet(c, d.metrics)
	next.start()
	limited, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if err := next.ready(limited); err != nil {
		next.stop()
		return fmt.Errorf("the issuers of the new configuration are not ready: %w", err)
	}
	last := d.current.Swap(next)
	d.metrics.deleteSeries(last.missing(next))
	last.stop()
	return nil
}

// AuthenticateToken implements authentication.Token.
func (d *Configured) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	return d.current.Load().AuthenticateToken(ctx, token)
}

// Anonymous authenticates requests as system:anonymous if the current configuration allows it.
func (d *Configured) Anonymous() authentication.Request {
	return authentication.RequestFunc(func(r *http.Request) (*authentication.Response, error) {
		if !d.servesAnonymous(r.URL.Path) {
			return nil, nil
		}
		return d.anonymousUser.AuthenticateRequest(r)
	})
}

func (d *Configured) servesAnonymous(path string) bool {
	a := d.current.Load().anonymous
	if a == nil {
		return d.anonymous
	}
	if !a.Enabled || len(a.Conditions) == 0 {
		return a.Enabled
	}
	for _, c := range a.Conditions {
		if c.Path == path {
			return true
		}
	}
	return false
}
