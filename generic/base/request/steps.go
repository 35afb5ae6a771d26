package request

import (
	"context"
	"time"
)

// Step is an operation that was completed for a request.
type Step struct {
	What string
	At   time.Time
}

// maxSteps limits the steps of a request. Further ones are dropped.
const maxSteps = 12

// Noted records a completed operation of the request that ctx belongs to, for the log of slow requests. It is
// for operations that may be slow: a write to storage, a call of a webhook. It is safe for concurrent use.
func Noted(ctx context.Context, what string) {
	if s := StateFrom(ctx); s != nil {
		s.note(what)
	}
}

func (s *State) note(what string) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) < maxSteps {
		s.steps = append(s.steps, Step{what, now})
	}
}

// Steps returns the recorded steps in their order.
func (s *State) Steps() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Step(nil), s.steps...)
}
