package flowcontrol

import "time"

// Bounds of histograms.
var (
	secondsBounds   = []float64{0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30}
	lengthBounds    = []float64{0, 10, 25, 50, 100, 250, 500, 1000}
	ratioBounds     = []float64{0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1}
	seatRatioBounds = []float64{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
	demandBounds    = []float64{0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6}
	watcherBounds   = []float64{0, 1, 10, 100, 1000, 10000}
	widthBounds     = []float64{1, 2, 4, 8, 16, 32, 64, 100}
	readWriteBounds = []float64{0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1}
)

// flowStats are the counters for the requests of a schema at a level. The level's mutex guards them.
type flowStats struct {
	executing, seats, waiting, waitingSeats int
	dispatches                              uint64
	refusals                                [len(rejections)]uint64
	noRoom                                  uint64 // dispatches that found too few seats

	waited, waitedRejected histogram
	regular, watches       histogram // durations
	queueLength            histogram
	estimates, watchCounts histogram
}

func newFlowStats() *flowStats {
	return &flowStats{
		waited: newHistogram(secondsBounds), waitedRejected: newHistogram(secondsBounds),
		regular: newHistogram(secondsBounds), watches: newHistogram(secondsBounds),
		queueLength: newHistogram(lengthBounds), estimates: newHistogram(widthBounds),
		watchCounts: newHistogram(watcherBounds),
	}
}

func (f *flowStats) estimated(t *Ticket) {
	f.estimates.observe(float64(max(t.seats, t.finalSeats)))
	if t.watchers >= 0 {
		f.watchCounts.observe(float64(t.watchers))
	}
}

func (f *flowStats) dispatched(waited time.Duration) {
	f.dispatches++
	f.waited.observe(waited.Seconds())
}

func (f *flowStats) rejected(reason Rejection, waited time.Duration) {
	for i, r := range rejections {
		if r == reason {
			f.refusals[i]++
		}
	}
	f.waitedRejected.observe(waited.Seconds())
}

func (f *flowStats) executed(t *Ticket, took time.Duration) {
	if t.request.watch() {
		f.watches.observe(took.Seconds())
	} else {
		f.regular.observe(took.Seconds())
	}
}

// levelStats are the counters of a level. The level's mutex guards them.
type levelStats struct {
	flows      map[string]*flowStats // by schema
	dispatches uint64
	rejections uint64 // rejected because queues or seats were full
	timedOut   uint64
	cancelled  uint64
	dispatchR  float64 // virtual time of the last dispatch
	latestS    float64 // virtual start of the request dispatched last

	seatsUsed           timing
	queued, executingIn timing
	demanded            timing

	demand demand
	period demandStats
	target float64
}

func newLevelStats() levelStats {
	return levelStats{
		flows:     map[string]*flowStats{},
		seatsUsed: newTiming(seatRatioBounds), queued: newTiming(ratioBounds), executingIn: newTiming(ratioBounds),
		demanded: newTiming(demandBounds),
	}
}

func (s *levelStats) elapse(d time.Duration) {
	s.seatsUsed.elapse(d)
	s.queued.elapse(d)
	s.executingIn.elapse(d)
	s.demanded.elapse(d)
	s.demand.elapse(d)
}

// note records the load of the level after a change.
func (s *levelStats) note(l *level) {
	demand := l.seatsInUse + l.waitingSeats
	s.demand.set(demand)
	s.demanded.set(ratio(demand, l.nominal))
	s.seatsUsed.set(ratio(l.seatsInUse, l.limit))
	s.executingIn.set(ratio(l.executing, l.limit))
	s.queued.set(ratio(l.waiting, len(l.queues)*l.lengthLimit))
}

func (s *levelStats) dispatched(r, start float64) { s.dispatchR, s.latestS = r, start }

func (s *levelStats) rejected(reason Rejection) {
	switch reason {
	case TimeOut:
		s.timedOut++
	case Cancelled:
		s.cancelled++
	default:
		s.rejections++
	}
}

// ratio returns n relative to of, which counts as 1 if it is 0.
func ratio(n, of int) float64 { return float64(n) / float64(max(1, of)) }
