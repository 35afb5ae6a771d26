package flowcontrol

import (
	"math"
	"time"
)

// demand integrates over a period how many seats a level's executing and waiting requests need.
type demand struct {
	now       float64
	high      float64
	elapsed   float64 // seconds
	sum       float64 // of demand over time
	sumSquare float64
}

func (d *demand) elapse(t time.Duration) {
	s := t.Seconds()
	d.elapsed += s
	d.sum += d.now * s
	d.sumSquare += d.now * d.now * s
}

func (d *demand) set(seats int) {
	d.now = float64(seats)
	d.high = max(d.high, d.now)
}

// demandStats are the statistics of a period.
type demandStats struct{ high, average, deviation, smooth float64 }

// smoothing is the decay of the smoothed demand per period: it halves in five minutes.
const smoothing = 0.977

// envelope is the demand that was rarely exceeded in the period.
func (s *demandStats) envelope() float64 { return min(s.high, s.average+s.deviation) }

// next ends a period and returns its statistics. The smoothed demand follows a rise at once and a fall slowly.
func (d *demand) next(before *demandStats) demandStats {
	s := demandStats{high: d.high, average: d.now}
	if d.elapsed > 0 {
		s.average = d.sum / d.elapsed
		s.deviation = math.Sqrt(max(0, d.sumSquare/d.elapsed-s.average*s.average))
	}
	e := s.envelope()
	s.smooth = max(e, smoothing*before.smooth+(1-smoothing)*e)
	*d = demand{now: d.now, high: d.now}
	return s
}
