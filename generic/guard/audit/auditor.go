package audit

import (
	"context"

	"triplane/generic/base/authorizer"
	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
)

// Backend stores events. It must not change them, and may keep them.
type Backend interface {
	// Process reports whether all events were stored, or will be as far as the
	// backend knows. A false refuses a request whose first event it was. It is
	// called from many goroutines, within requests.
	Process(events ...*Event) bool
	// Close stores what waits, as far as ctx allows, and ends the backend's
	// goroutines. It is called once, after the last Process.
	Close(ctx context.Context)
}

// Auditor records requests as a policy says. It is safe for concurrent use.
type Auditor struct {
	policy  *Policy
	backend Backend
	metrics *metrics.Audit
}

// New returns an auditor that sends events to a backend; m may be nil.
func New(p *Policy, b Backend, m *metrics.Audit) *Auditor {
	return &Auditor{policy: p, backend: b, metrics: m}
}

// Close closes the backend, after the last request.
func (a *Auditor) Close(ctx context.Context) { a.backend.Close(ctx) }

// Begin returns the record of a request that nothing is known of yet.
func (a *Auditor) Begin() *Record { return &Record{auditor: a} }

// RecordFrom returns the record of the request that ctx belongs to; nil, whose methods do nothing,
// where the request is not audited.
func RecordFrom(ctx context.Context) *Record {
	if s := request.StateFrom(ctx); s != nil {
		return RecordOf(s)
	}
	return nil
}

// RecordOf is RecordFrom of the request's state.
func RecordOf(s *request.State) *Record {
	r, _ := s.Audit.(*Record)
	return r
}

// Level is how much the policy has recorded of a request.
func (a *Auditor) Level(of *authorizer.Attributes) Level { return a.policy.Decide(of).Level }
