package host

import "testing"

func TestSettlerWaitsForQuietAfterWork(t *testing.T) {
	var s settler
	steps := []struct {
		allocated uint64
		due       bool
	}{
		{40 << 20, false},        // the start allocates
		{40<<20 + 1000, true},    // and is over
		{40<<20 + 2000, false},   // nothing to give back
		{50 << 20, false},        // work
		{50<<20 + 1000, false},   // not worth it
		{90 << 20, false},        // more work
		{90<<20 + 900_000, true}, // quiet
		{90<<20 + 1_800_000, false},
	}
	for i, step := range steps {
		due := s.due(step.allocated)
		if due != step.due {
			t.Fatalf("step %d at %d: due %v", i, step.allocated, due)
		}
		if due {
			s.settled = step.allocated
		}
	}
}
