package flowcontrol

import (
	"maps"
	"slices"
	"time"
)

// writesPerMinute is how often a schema's condition is written at most. Consumers that disagree on it, as of
// two releases during an upgrade, would otherwise write against each other as fast as they can.
const writesPerMinute = 6

// pace is when the conditions of schemas were written in the last minute, by the schemas' names.
type pace map[string][]time.Time

// next notes a write and returns zero, or how long the write has to wait.
func (p pace) next(name string, now time.Time) time.Duration {
	p[name] = lastMinute(p[name], now)
	if recent := p[name]; len(recent) >= writesPerMinute {
		return recent[0].Add(time.Minute).Sub(now)
	}
	p[name] = append(p[name], now)
	return 0
}

// expire drops the schemas that were not written for a minute.
func (p pace) expire(now time.Time) {
	maps.DeleteFunc(p, func(_ string, at []time.Time) bool { return len(lastMinute(at, now)) == 0 })
}

func lastMinute(at []time.Time, now time.Time) []time.Time {
	first := slices.IndexFunc(at, func(t time.Time) bool { return now.Sub(t) < time.Minute })
	if first < 0 {
		return nil
	}
	return at[first:]
}
