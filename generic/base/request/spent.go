package request

import (
	"context"
	"iter"
	"time"
)

// Part is a part of the time that a request takes.
type Part uint8

// The parts, by what the time goes on. Of validating webhooks, which are asked side
// by side, it is the longest; else parts add up.
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

// String is the name of the part as audit annotations have it.
func (p Part) String() string {
	return [parts]string{"authentication", "authorization", "apf-queue-wait", "mutating-webhook", "validating-webhook",
		"etcd", "transform-response-object", "serialize-response-object", "response-write"}[p]
}

// Spent notes how long a part of the request that ctx belongs to took. It may be
// called concurrently.
func Spent(ctx context.Context, p Part, d time.Duration) {
	if s := StateFrom(ctx); s != nil {
		s.Spent(p, d)
	}
}

// Spent is the function of this name.
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

// Time begins to measure a part of the request that ctx belongs to, if the request
// is audited; nobody else asks how long small things take.
func Time(ctx context.Context, p Part) Timer {
	s := StateFrom(ctx)
	if s == nil || s.Audit == nil {
		return Timer{}
	}
	return Timer{s, p, time.Now()}
}

// Stop notes the time since the timer began.
func (t Timer) Stop() {
	if t.state != nil {
		t.state.Spent(t.part, time.Since(t.begun))
	}
}

// Parts are those that took any time.
func (s *State) Parts() iter.Seq2[Part, time.Duration] {
	return func(yield func(Part, time.Duration) bool) {
		for p := range parts {
			if d := s.spent[p].Load(); d > 0 && !yield(p, time.Duration(d)) {
				return
			}
		}
	}
}

// Outside is the part of the request's time that service levels leave out: what
// webhooks took, and what the request waited for its turn.
func (s *State) Outside() time.Duration {
	return time.Duration(s.spent[QueueWait].Load() + s.spent[MutatingWebhook].Load() + s.spent[ValidatingWebhook].Load())
}
