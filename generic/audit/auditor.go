package audit

import (
	"time"

	"triplane/generic/metrics"
)

// Sink takes events. It must not change them, and may keep them. It is called
// from many goroutines, within requests.
type Sink interface {
	// Process reports whether all events were stored, or will be as far as the
	// sink knows. A false refuses a request whose first event it was.
	Process(events ...*Event) bool
}

// Auditor records requests as a policy says. It is safe for concurrent use.
type Auditor struct {
	policy  *Policy
	sink    Sink
	metrics *metrics.Audit
	now     func() time.Time
}

// New returns an auditor that sends events to sink; m may be nil.
func New(p *Policy, sink Sink, m *metrics.Audit) *Auditor {
	return &Auditor{policy: p, sink: sink, metrics: m, now: time.Now}
}

// Begin returns the record of a request that nothing is known of yet.
func (a *Auditor) Begin() *Record { return &Record{auditor: a} }
