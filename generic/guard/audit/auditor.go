package audit

import (
	"context"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
)

// Backend stores events. It may keep them but must not change them.
type Backend interface {
	// Process stores events. It returns false if it knows that one was not stored; if that is the first event
	// of a request, the request is rejected. It is called concurrently, while the requests wait.
	Process(events ...*Event) bool
	// Close stores buffered events until ctx ends, and stops the backend's goroutines. It is called once, after
	// the last Process.
	Close(ctx context.Context)
}

// Auditor records requests according to a policy. It is safe for concurrent use.
type Auditor struct {
	policy  *Policy
	backend Backend
	metrics *Metrics
}

// New returns an Auditor that sends events to a backend. m may be nil.
func New(p *Policy, b Backend, m *Metrics) *Auditor {
	return &Auditor{policy: p, backend: b, metrics: m}
}

// Close closes the backend. It must be called after the last request.
func (a *Auditor) Close(ctx context.Context) { a.backend.Close(ctx) }

// Begin returns an empty record for a request.
func (a *Auditor) Begin() *Record { return &Record{auditor: a} }

// RecordFrom returns the record of the request that ctx belongs to. It is nil if the request is not audited.
func RecordFrom(ctx context.Context) *Record {
	if s := request.StateFrom(ctx); s != nil {
		return RecordOf(s)
	}
	return nil
}

// RecordOf returns the record of a request's state. It is nil if the request is not audited.
func RecordOf(s *request.State) *Record {
	r, _ := s.Audit.(*Record)
	return r
}

// Level returns the audit level of the policy for a request.
func (a *Auditor) Level(of *authorizer.Attributes) Level { return a.policy.Decide(of).Level }
