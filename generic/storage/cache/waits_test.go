package cache

import (
	"testing"
	"time"
)

func TestWaits(t *testing.T) {
	var w durations
	w.none()
	for _, d := range []time.Duration{5 * time.Millisecond, 60 * time.Millisecond, time.Minute} {
		w.add(waitBounds, d)
	}
	all := w.load(waitBounds)
	reads, upTo := all.Histogram()
	if reads != 4 || upTo[0.005] != 2 || upTo[0.05] != 2 || upTo[0.1] != 3 || upTo[3] != 3 || all.Total != time.Minute+65*time.Millisecond {
		t.Errorf("%d reads, %v, %v", reads, upTo, all.Total)
	}
}
