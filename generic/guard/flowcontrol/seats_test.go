package flowcontrol

import (
	"math"
	"testing"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
)

// Seats of the default levels at a total of 600, as documented.
func TestNominalSeats(t *testing.T) {
	levels := map[string]struct {
		level          *flowv1.PriorityLevelConfiguration
		nominal, lower int
	}{
		"leader-election": {limitedLevel("leader-election", 10, 0), 25, 25},
		"node-high":       {limitedLevel("node-high", 40, 25), 98, 73},
		"system":          {limitedLevel("system", 30, 33), 74, 50},
		"workload-low":    {limitedLevel("workload-low", 100, 90), 245, 24},
		"global-default":  {limitedLevel("global-default", 20, 50), 49, 24},
		"catch-all":       {limitedLevel("catch-all", 5, 0), 13, 13},
	}
	for name, c := range levels {
		if x := limitsOf(c.level, 600, 245); x.nominal != c.nominal || x.lower != c.lower || x.upper != unlimited {
			t.Errorf("%s: %+v", name, x)
		}
	}
}

func TestDivision(t *testing.T) {
	level := func(nominal, lower, upper int, high, smooth float64) share {
		return share{limits: limits{nominal, lower, upper}, high: high, smooth: smooth}
	}
	for name, c := range map[string]struct {
		total  int
		levels []share
		want   []int
	}{
		"nobody needs anything: all that is lent is spread":      {100, []share{level(50, 50, unlimited, 0, 0), level(50, 10, unlimited, 0, 0)}, []int{83, 17}},
		"one borrows what the other lends":                       {100, []share{level(50, 10, unlimited, 0, 0), level(50, 50, unlimited, 200, 200)}, []int{10, 90}},
		"what is not lent is not borrowed":                       {100, []share{level(50, 50, unlimited, 0, 0), level(50, 50, unlimited, 200, 200)}, []int{50, 50}},
		"borrowing has a limit; the rest stays where it is":      {100, []share{level(50, 10, unlimited, 0, 0), level(50, 50, 60, 200, 200)}, []int{40, 60}},
		"both need theirs":                                       {100, []share{level(50, 10, unlimited, 200, 200), level(50, 10, unlimited, 80, 80)}, []int{50, 50}},
		"an exempt level takes what it wants, but not the least": {100, []share{{exempt: true, high: 40, smooth: 40}, level(50, 10, unlimited, 50, 50), level(50, 10, unlimited, 10, 10)}, []int{40, 50, 10}},
		"a level that lends all of its seats keeps one": {
			12, []share{level(2, 2, unlimited, 0, 0), level(5, 0, unlimited, 0, 0)}, []int{12, 1}},
		"a level without seats gets none": {10, []share{level(0, 0, 0, 5, 5), level(10, 10, unlimited, 1, 1)}, []int{0, 10}},
	} {
		divide(c.total, c.levels)
		for i, s := range c.levels {
			if s.seats != c.want[i] {
				t.Errorf("%s: level %d gets %d, not %d", name, i, s.seats, c.want[i])
			}
		}
	}
}

func FuzzDivision(f *testing.F) {
	f.Add(600, 100, 50, 120, 30.0, 20.0, 200, 0, 1000, 500.0, 400.0)
	f.Fuzz(func(t *testing.T, total, n1, l1, u1 int, h1, s1 float64, n2, l2, u2 int, h2, s2 float64) {
		bound := func(v, most int) int { return min(max(v, 0), most) }
		seats := func(v float64) float64 {
			if math.IsNaN(v) {
				return 0
			}
			return min(max(v, 0), 1e6)
		}
		levels := []share{{high: seats(h1), smooth: seats(s1)}, {high: seats(h2), smooth: seats(s2)}}
		for i, n := range [][3]int{{n1, l1, u1}, {n2, l2, u2}} {
			nominal := bound(n[0], 10000)
			levels[i].limits = limits{nominal, bound(n[1], nominal), max(nominal, bound(n[2], unlimited))}
		}
		fair := divide(bound(total, 20000), levels)
		if math.IsNaN(fair) || fair < 0 {
			t.Fatalf("fraction %v", fair)
		}
		for _, s := range levels {
			if s.seats < s.lower || s.seats > s.upper {
				t.Errorf("%+v", s)
			}
		}
	})
}

// A level's demand is smoothed: it rises at once and falls slowly.
func TestDemand(t *testing.T) {
	var d demand
	d.set(10)
	d.elapse(10 * time.Second)
	s := d.next(&demandStats{})
	if s.high != 10 || s.average != 10 || s.smooth != 10 {
		t.Fatalf("%+v", s)
	}
	d.set(0)
	for range 30 { // five minutes
		d.elapse(10 * time.Second)
		s = d.next(&s)
	}
	if s.smooth < 4.9 || s.smooth > 5.2 || s.high != 0 {
		t.Errorf("%+v", s)
	}
}

// Levels with waiting requests borrow seats, and return them.
func TestBorrowing(t *testing.T) {
	w := newWorld(t, 10, 64, 4, 50)
	busy, idle := limitedLevel("work", 50, 0, 64, 4, 50), limitedLevel("idle", 50, 80)
	w.Update([]*flowv1.FlowSchema{schemaOf("work", "work", 100, group("workers"))}, []*flowv1.PriorityLevelConfiguration{busy, idle})
	w.adjust()
	for w.work().waiting == 0 {
		ticket := w.ticket("ann", 1)
		ticket.level.arrive(ticket)
	}
	before := w.work().limit
	for range 5 {
		w.queue("ann", 1)
	}
	w.step(adjustEvery)
	w.adjust()
	if l := w.work(); l.limit <= before || l.executing != l.limit || l.limit+w.levels["idle"].limit > 11 {
		t.Errorf("%d seats before, %d after, %d of the idle level", before, l.limit, w.levels["idle"].limit)
	}
}
