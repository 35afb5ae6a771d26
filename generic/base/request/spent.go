package request

import (
	"context"
	"iter"
	"sync/atomic"
	"time"
)

// Part is a part of the duration of a request.
type Part uint8

// The parts. Validating webhooks run concurrently, so their part is that of the longest call. Other parts are
// sums.
const (
	Authentication Part = iota
	Authorization
	QueueWait
	MutatingWebhook
	ValidatingWebhook
	StorageAccess
	Transformation
	Serialization
	ResponseWrite
	parts
)

// String returns the name of the part in audit annotations.
func (p Part) String() string {
	return [parts]string{"authentication", "authorization", "apf-queue-wait", "mutating-webhook", "validating-webhook",
		"etcd", "transform-response-object", "serialize-response-object", "response-write"}[p]
}

// latency has the durations of the parts of a request, and its steps.
type latency struct {
	spent [parts]atomic.Int64 // nanoseconds
	steps []Step              // guarded by State.mu
}

// Spent adds the duration of a part to the request that ctx belongs to. It is safe for concurrent use.
func Spent(ctx context.Context, p Part, d time.Duration) {
	if s := StateFrom(ctx); s != nil {
		s.Spent(p, d)
	}
}

// Spent adds the duration of a part to the request.
func (s *State) Spent(p Part, d time.Duration) {
	if p != ValidatingWebhook {
		s.spent[p].Add(int64(d))
		return
	}
	for {
		longest := s.spent[p].Load()
		if int64(d) <= longest || s.spent[p].CompareAndSwap(longest, int64(d)) {
			return
		}
	}
}

// Timer measures a part of a request.
type Timer struct {
	state *State
	part  Part
	begun time.Time
}

// Time starts the measurement of a part of the request that ctx belongs to. If the request is not audited, the
// timer does nothing: only audit events report these parts.
func Time(ctx context.Context, p Part) Timer {
	s := StateFrom(ctx)
	if s == nil || s.Audit == nil {
		return Timer{}
	}
	return Timer{s, p, time.Now()}
}

// Stop adds the time since the start.
func (t Timer) Stop() {
	if t.state != nil {
		t.state.Spent(t.part, time.Since(t.begun))
	}
}

// Parts returns the parts with a duration above 0.
func (s *State) Parts() iter.Seq2[Part, time.Duration] {
	return func(yield func(Part, time.Duration) bool) {
		for p := range parts {
			if d := s.spent[p].Load(); d > 0 && !yield(p, time.Duration(d)) {
				return
			}
		}
	}
}

// Outside returns the duration that is excluded from service level indicators: webhooks and the wait in queues.
func (s *State) Outside() time.Duration {
	return time.Duration(s.spent[QueueWait].Load() + s.spent[MutatingWebhook].Load() + s.spent[ValidatingWebhook].Load())
}
