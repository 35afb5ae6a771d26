package request

import (
	"context"
	"time"
)

// Step is something that was done for a request, and when.
type Step struct {
	What string
	At   time.Time
}

// maxSteps bounds what is noted of a request; further steps are not.
const maxSteps = 12

// Noted notes that something has just been done for the request that ctx belongs to,
// for the log of requests that take long. It is meant for what may take long itself: a
// write to storage, a webhook's answer. It may be called concurrently.
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

// Steps returns what was noted, in order.
func (s *State) Steps() []Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Step(nil), s.steps...)
}
