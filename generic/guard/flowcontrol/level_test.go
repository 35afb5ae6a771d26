package flowcontrol

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/utils/clock"
)

func TestLimitWithoutQueues(t *testing.T) {
	w := newWorld(t, 2)
	a, b := w.enter("ann", 1), w.enter("ann", 1)
	w.refuse("bob", ConcurrencyLimit)
	a.Leave()
	a.Leave() // gives nothing back twice
	c := w.enter("bob", 1)
	w.refuse("bob", ConcurrencyLimit)
	b.Leave()
	c.Leave()
	w.mustBeIdle()
}

func (w *world) mustBeIdle() {
	w.t.Helper()
	l := w.work()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seatsInUse != 0 || l.executing != 0 || l.requests != nil || l.waiting != 0 || l.waitingSeats != 0 || l.active != 0 ||
		len(l.backlogged) != 0 || l.readsIn != 0 || l.readsQueued != 0 {
		w.t.Errorf("the level is not idle: %+v", l)
	}
	for name, f := range l.stats.flows {
		if f.executing != 0 || f.seats != 0 || f.waiting != 0 || f.waitingSeats != 0 {
			w.t.Errorf("requests of %s are left: %+v", name, f)
		}
	}
}

func TestExemptRequestsAreCountedAndNotLimited(t *testing.T) {
	w := newWorld(t, 1)
	for range 10 {
		r := get(worker("root"))
		r.User.Groups = []string{"system:masters"}
		var ticket Ticket
		w.Classify(r, &ticket)
		if reason := ticket.Enter(context.Background(), 0); reason != "" {
			t.Fatal(reason)
		}
	}
	if l := w.levels["exempt"]; l.executing != 10 {
		t.Errorf("%d execute", l.executing)
	}
}

// stranger returns a user whose only queue differs from that of the ticket.
func (w *world) stranger(than *Ticket) string {
	for i := 0; ; i++ {
		name := fmt.Sprint("user-", i)
		if t := w.ticket(name, 1); w.work().choose(t.hash).index != than.queue.index {
			return name
		}
	}
}

// next ends the executing request and returns the one that executes then.
func (w *world) next(after time.Duration) *Ticket {
	w.step(after)
	w.work().requests.Leave()
	return w.work().requests
}

// A request of a flow with few requests waits for the executing request and at most one more of a flow that
// fills its queue.
func TestFairQueuing(t *testing.T) {
	w := newWorld(t, 1, 64, 1, 50)
	w.enter("flood", 1)
	first := w.queue("flood", 1)
	for range 9 {
		w.queue("flood", 1)
	}
	light := w.queue(w.stranger(first), 1)
	if one, two := w.next(10*time.Millisecond), w.next(10*time.Millisecond); one != light && two != light {
		t.Fatal("the light flow waits for the flood")
	}
	for w.work().executing > 0 {
		w.next(time.Millisecond)
	}
	w.mustBeIdle()
}

// Of two flows with constant demand, the one with wide requests executes fewer of them.
func TestSharesAreOfSeatsAndTime(t *testing.T) {
	w := newWorld(t, 4, 64, 1, 50)
	w.enter("wide", 4)
	narrow := w.stranger(w.queue("wide", 4))
	done := map[string]int{}
	for range 400 {
		for name, seats := range map[string]int{"wide": 4, narrow: 1} {
			ticket := w.ticket(name, seats)
			for q := w.work().choose(ticket.hash); len(q.waiting) < 5; ticket = w.ticket(name, seats) {
				ticket.level.arrive(ticket)
			}
		}
		w.step(10 * time.Millisecond)
		var over []*Ticket
		for r := w.work().requests; r != nil; r = r.after {
			over = append(over, r)
		}
		for _, r := range over {
			done[r.distinguisher] += r.seats
			r.Leave()
		}
	}
	if a, b := float64(done["wide"]), float64(done[narrow]); a/b < 0.6 || a/b > 1.7 {
		t.Errorf("the wide requests had %v seats, the narrow ones %v", a, b)
	}
}

func TestQueueIsFull(t *testing.T) {
	w := newWorld(t, 1, 64, 1, 2)
	w.enter("ann", 1)
	first := w.queue("ann", 1)
	w.queue("ann", 1)
	w.refuse("ann", QueueFull)
	w.queue(w.stranger(first), 1) // others have queues of their own
}

func TestWaitingEnds(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, c := range []struct {
		want Rejection
		end  func(w *world, cancel context.CancelFunc)
	}{
		{TimeOut, func(w *world, _ context.CancelFunc) { w.step(time.Second) }},
		{Cancelled, func(_ *world, cancel context.CancelFunc) { cancel() }},
		{"", func(w *world, _ context.CancelFunc) { w.work().requests.Leave() }},
	} {
		w := newWorld(t, 1, 64, 4, 10)
		held := w.enter("ann", 1)
		ctx, cancel := context.WithCancel(context.Background())
		result := make(chan Rejection)
		ticket := w.ticket("bob", 1)
		go func() { result <- ticket.Enter(ctx, time.Second) }()
		for !w.clock.HasWaiters() {
			time.Sleep(time.Millisecond) // until the timer of the queue runs
		}
		c.end(w, cancel)
		if got := <-result; got != c.want {
			t.Errorf("%q instead of %q", got, c.want)
		}
		cancel()
		held.Leave()
		ticket.Leave()
		w.mustBeIdle()
	}
}

func TestWideRequests(t *testing.T) {
	w := newWorld(t, 4, 64, 1, 10)
	alone := w.enter("ann", 9) // wider than the level: it executes alone
	waits := w.queue("bob", 3)
	alone.Leave()
	if waits.phase != executing {
		t.Fatal("the free seats are not used")
	}
	two := w.queue("ann", 2)
	one := w.queue("ann", 1) // would fit, but it is not its turn
	if one.phase != waiting || two.phase != waiting {
		t.Fatal("a narrow request overtakes a wide one")
	}
	waits.Leave()
	if one.phase != executing || two.phase != executing {
		t.Fatal("both would fit")
	}
}

// The seats for a write's watchers stay occupied for some time after the response.
func TestFinalSeatsLinger(t *testing.T) {
	w := newWorld(t, 4)
	write := w.ticket("ann", 1)
	write.finalSeats, write.extra = 4, 5*time.Millisecond
	if reason := write.Enter(context.Background(), 0); reason != "" {
		t.Fatal(reason)
	}
	other := w.enter("bob", 1)
	other.Leave()
	write.Leave()
	w.refuse("bob", ConcurrencyLimit)
	w.step(5 * time.Millisecond)
	for w.work().busy() {
		time.Sleep(time.Millisecond)
	}
	w.enter("bob", 1).Leave()
	w.mustBeIdle()
}

// Requests continue after their schema and level are deleted.
func TestConfigurationChanges(t *testing.T) {
	w := newWorld(t, 2, 64, 4, 10)
	old := w.work()
	a, b := w.enter("ann", 1), w.enter("ann", 1)
	waits := w.queue("ann", 1)

	dangling := schemaOf("work", "nowhere", 100, group("workers"))
	w.Update([]*flowv1.FlowSchema{dangling}, nil)
	if got := w.ticket("ann", 1); got.schema.name != "catch-all" {
		t.Errorf("classified by %s", got.schema.name)
	}
	if w.work() != old || !old.quiescing {
		t.Fatal("a level with requests does not stay")
	}
	a.Leave()
	b.Leave()
	if waits.phase != executing {
		t.Error("a request was left behind in the queue of a level that ends")
	}
	waits.Leave()
	w.adjust()
	if w.work() != nil {
		t.Error("the level stays after its last request")
	}
	if len(*w.schemas.Load()) != 2 {
		t.Error("the mandatory schemas are not there")
	}
}

func TestFewerQueues(t *testing.T) {
	w := newWorld(t, 1, 64, 1, 10)
	w.enter("ann", 1)
	var all []*Ticket
	for i := range 40 {
		all = append(all, w.queue(fmt.Sprint("user-", i), 1))
	}
	levels := []*flowv1.PriorityLevelConfiguration{limitedLevel("work", 10, 0, 1, 1, 50)}
	w.Update([]*flowv1.FlowSchema{schemaOf("work", "work", 100, group("workers"))}, levels)
	w.queue("late", 1)
	for range len(all) + 2 {
		w.work().requests.Leave()
	}
	w.mustBeIdle()
}

// After many concurrent requests all seats are free.
func TestManyAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	w := newWorld(t, 8, 16, 3, 5)
	w.Controller.clock, w.work().clock = clock.RealClock{}, clock.RealClock{}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for range 300 {
				ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(2000))*time.Microsecond)
				ticket := w.ticket(fmt.Sprint("user-", random.IntN(5)), 1+random.IntN(4))
				if ticket.Enter(ctx, time.Duration(random.IntN(1000))*time.Microsecond) == "" {
					if random.IntN(2) == 0 {
						go ticket.Leave()
					}
					ticket.Leave()
				}
				cancel()
			}
		})
	}
	all.Go(func() {
		for range 20 {
			w.adjust()
			w.sample()
		}
	})
	all.Wait()
	for w.work().busy() {
		time.Sleep(time.Millisecond)
	}
	w.mustBeIdle()
}

func (l *level) busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.executing > 0
}

// Wide requests leave seats for narrow ones. Narrow requests do not wait behind a wide one that does not fit,
// and do not take its seats.
func TestNarrowRequestsPassWideOnes(t *testing.T) {
	w := newWorld(t, 40, 16, 1, 10) // 4 seats are spare
	var wide []*Ticket
	for range 3 {
		wide = append(wide, w.enter("flood", 10))
	}
	next := w.queue("flood", 10) // 36 seats are for such
	stranger := w.stranger(next)
	narrow := []*Ticket{w.enter(stranger, 1)} // in its turn
	narrow[0].queue.next += 100               // and from now on after the others
	for range 4 {
		narrow = append(narrow, w.enter(stranger, 1))
	}
	late := w.queue(stranger, 1) // the spare seats are taken
	narrow[1].Leave()
	if late.phase != executing {
		t.Error("a spare seat stays free")
	}
	wide[0].Leave() // 21 seats are taken that the wide one counts
	if next.phase != executing {
		t.Error("narrow requests keep a wide one from its seats")
	}
	for _, ticket := range append(append(wide, narrow...), next, late) {
		ticket.Leave()
	}
	w.mustBeIdle()
	if n := w.work().passed; n != 0 {
		t.Errorf("%d pass in an idle level", n)
	}
}
