package flowcontrol

import (
	"testing"
	"time"
)

// A condition that somebody else keeps changing is written six times in any minute, others are not delayed.
func TestConditionsAreWrittenAFewTimesAMinute(t *testing.T) {
	p, start := pace{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	for _, step := range []struct {
		schema string
		second int
		wait   time.Duration
	}{
		{"a", 0, 0}, {"a", 1, 0}, {"a", 2, 0}, {"a", 3, 0}, {"a", 4, 0}, {"a", 5, 0},
		{"a", 6, 54 * time.Second},
		{"b", 6, 0},
		{"a", 59, time.Second},
		{"a", 60, 0},
		{"a", 60, time.Second},
		{"a", 61, 0},
		{"a", 200, 0},
	} {
		if wait := p.next(step.schema, at(step.second)); wait != step.wait {
			t.Errorf("%s at %ds waits for %s, want %s", step.schema, step.second, wait, step.wait)
		}
	}
	if p.expire(at(201)); len(p) != 1 {
		t.Errorf("%d schemas are remembered, want a", len(p))
	}
	if p.expire(at(260)); len(p) != 0 {
		t.Errorf("%d schemas are remembered after a minute", len(p))
	}
}
