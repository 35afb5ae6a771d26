package jwt

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"triplane/generic/guard/authentication"
)

// readyWithin is how long the issuers of a changed configuration may take to answer;
// after that the change is not used.
const readyWithin = time.Minute

// Configured authenticates by the configuration that is in force.
type Configured struct {
	current atomic.Pointer[set]
	metrics *Metrics
	// anonymous is what configurations that leave anonymous requests open mean.
	anonymous bool
	nobody    authentication.Request
}

// NewConfigured returns authenticators of a first configuration, which need Run.
// anonymous says whether anonymous requests are served where a configuration does
// not say.
func NewConfigured(c *Compiled, anonymous bool, m *Metrics) *Configured {
	d := &Configured{metrics: m, anonymous: anonymous, nobody: authentication.Anonymous()}
	d.current.Store(newSet(c, m))
	return d
}

// Run contacts the issuers and then runs follow, which may call Replace and returns
// when ctx ends; nil waits for the end. Connections to issuers end with it.
func (d *Configured) Run(ctx context.Context, follow func(context.Context)) {
	d.current.Load().start()
	defer func() { d.current.Load().stop() }()
	if follow != nil {
		follow(ctx)
	}
	<-ctx.Done()
}

// Replace puts a configuration into force when all of its issuers have answered. It
// returns an error, and leaves the last one in force, if they do not within a
// minute. Only what Run runs may call it.
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
	d.metrics.forget(last.missing(next))
	last.stop()
	return nil
}

// AuthenticateToken implements authentication.Token.
func (d *Configured) AuthenticateToken(ctx context.Context, token string) (*authentication.Response, error) {
	return d.current.Load().AuthenticateToken(ctx, token)
}

// Anonymous authenticates requests as system:anonymous, where they are served.
func (d *Configured) Anonymous() authentication.Request {
	return authentication.RequestFunc(func(r *http.Request) (*authentication.Response, error) {
		if !d.servesAnonymous(r.URL.Path) {
			return nil, nil
		}
		return d.nobody.AuthenticateRequest(r)
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
