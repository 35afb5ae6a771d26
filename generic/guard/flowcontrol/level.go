package flowcontrol

import (
	"slices"
	"sync"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/utils/clock"
)

// level is a priority level with its requests.
type level struct {
	name  string
	clock clock.WithDelayedExecution

	mu     sync.Mutex
	exempt bool
	limits
	limit int // current seats, after lending and borrowing
	// quiescing is set after the object is deleted. The level is removed with its last request.
	quiescing bool

	queues                []*queue // empty if the level rejects requests instead of queuing them
	handSize, lengthLimit int
	backlogged            []*queue // queues with waiting requests
	active                int      // number of active queues

	requests                  *Ticket // list of executing requests
	executing, seatsInUse     int
	passed                    int // executing requests that have passed a wide one
	waiting, waitingSeats     int
	readsIn, writesIn         int // executing
	readsQueued, writesQueued int // waiting

	at    time.Time // time of the last advance
	r     float64   // virtual time, in seat-seconds of a queue
	stats levelStats
}

func newLevel(name string, c clock.WithDelayedExecution) *level {
	return &level{name: name, clock: c, at: c.Now(), stats: newLevelStats()}
}

// configure applies the object of the level. Requests stay in their queues even if these are removed.
func (l *level) configure(o *flowv1.PriorityLevelConfiguration, x limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	l.quiescing = false
	l.exempt = o.Spec.Type == flowv1.PriorityLevelEnablementExempt
	l.limits = x
	want, hand, length := 0, 0, 0
	if o.Spec.Limited != nil && o.Spec.Limited.LimitResponse.Queuing != nil {
		q := o.Spec.Limited.LimitResponse.Queuing
		want, hand, length = int(q.Queues), int(q.HandSize), int(q.QueueLengthLimit)
	}
	l.handSize, l.lengthLimit = hand, length
	for len(l.queues) < want {
		l.queues = append(l.queues, &queue{index: len(l.queues)})
	}
	l.queues = slices.Clip(l.queues[:want])
}

// resize sets the seats and dispatches requests that fit now.
func (l *level) resize(seats int, target float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	l.limit, l.stats.target = seats, target
	l.dispatch()
	l.changed()
}

// quiesce marks the level for removal and reports whether it has no requests.
func (l *level) quiesce() (idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiescing = true
	return l.executing == 0 && l.waiting == 0
}

// advance updates the clocks of the level. It must be called before any change.
func (l *level) advance() {
	now := l.clock.Now()
	d := now.Sub(l.at)
	if d <= 0 {
		return
	}
	l.at = now
	l.stats.elapse(d)
	if l.active > 0 {
		l.r += d.Seconds() * float64(min(l.seatsInUse+l.waitingSeats, l.limit)) / float64(l.active)
	}
}

// changed updates the statistics. It must be called after any change.
func (l *level) changed() {
	l.stats.note(l)
}

// fits reports whether a request may execute now. A request that is wider than the level executes alone.
func (l *level) fits(t *Ticket) bool {
	if l.exempt {
		return true
	}
	if t.narrow() {
		return l.seatsInUse+t.seats <= l.limit
	}
	// Seats of requests that have passed a wide one are spare: a wide request could not use them.
	inUse := l.seatsInUse - l.passed
	return inUse+t.seats <= l.limit-l.spare() || inUse == 0 && l.limit > 0
}

// spare is how many seats only narrow requests may use, so that they need not wait for wide ones.
func (l *level) spare() int { return l.limit / spareOf }

// spareOf is the divisor of a level's seats for spare. Levels with fewer seats have none.
const spareOf = 10

// arrive executes, rejects or queues a request.
func (l *level) arrive(t *Ticket) (reason Rejection, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	t.arrived = l.at
	flow := t.schema.flow
	flow.estimated(t)
	if len(l.queues) == 0 || l.exempt {
		if !l.fits(t) {
			flow.noRoom++
			return l.reject(t, ConcurrencyLimit), false
		}
		l.execute(t)
		l.changed()
		return "", false
	}
	t.queue = l.choose(t.hash)
	if l.waiting == 0 && l.fits(t) {
		flow.queueLength.observe(1)
		l.join(t.queue)
		l.execute(t)
		l.changed()
		return "", false
	}
	if len(t.queue.waiting) >= l.lengthLimit {
		return l.reject(t, QueueFull), false
	}
	l.enqueue(t)
	l.dispatch()
	l.changed()
	return "", t.phase == waiting
}

func (l *level) reject(t *Ticket, reason Rejection) Rejection {
	t.phase = done
	t.left.Store(true)
	t.schema.flow.rejected(reason, l.at.Sub(t.arrived))
	l.stats.rejected(reason)
	return reason
}

// join makes an idle queue active.
func (l *level) join(q *queue) {
	if !q.active() {
		q.next = max(q.next, l.r)
		l.active++
	}
}

func (l *level) enqueue(t *Ticket) {
	q := t.queue
	l.join(q)
	if len(q.waiting) == 0 {
		l.backlogged = append(l.backlogged, q)
	}
	t.phase, t.wake = waiting, make(chan struct{})
	q.waiting = append(q.waiting, t)
	l.countWaiting(t, 1)
	t.schema.flow.queueLength.observe(float64(len(q.waiting)))
}

func (l *level) countWaiting(t *Ticket, by int) {
	l.waiting += by
	l.waitingSeats += by * t.seats
	t.schema.flow.waiting += by
	t.schema.flow.waitingSeats += by * t.seats
	if t.request.mutating() {
		l.writesQueued += by
	} else {
		l.readsQueued += by
	}
}

// dispatch executes requests in the order of virtual finish times while the next one fits. If that is too wide,
// narrow ones may pass it and use spare seats.
func (l *level) dispatch() {
	for l.waiting > 0 {
		t := l.nextQueue(func(*Ticket) bool { return true }).waiting[0]
		if !l.fits(t) {
			t.schema.flow.noRoom++
			if t = l.passing(); t == nil {
				return
			}
			t.passed = true
			l.passed++
		}
		l.dequeue(t)
		l.execute(t)
		close(t.wake)
	}
}

// passing returns the next narrow request for which there is a spare seat, or nil.
func (l *level) passing() *Ticket {
	if l.passed >= l.spare() {
		return nil
	}
	q := l.nextQueue((*Ticket).narrow)
	if q == nil || !l.fits(q.waiting[0]) {
		return nil
	}
	return q.waiting[0]
}

// dequeue removes a request from its queue. The caller must then call execute or idle, which update whether the
// queue is active.
func (l *level) dequeue(t *Ticket) {
	q := t.queue
	q.remove(t)
	if len(q.waiting) == 0 {
		l.backlogged = slices.DeleteFunc(l.backlogged, func(b *queue) bool { return b == q })
	}
	l.countWaiting(t, -1)
}

// execute occupies the request's seats.
func (l *level) execute(t *Ticket) {
	t.phase, t.started = executing, l.at
	l.occupy(t, t.seats)
	l.executing++
	t.schema.flow.executing++
	l.countExecuting(t, 1)
	if q := t.queue; q != nil {
		l.stats.dispatched(l.r, q.next)
		q.next += t.work()
		q.executing++
	}
	if l.requests != nil {
		l.requests.before = t
	}
	t.after, l.requests = l.requests, t
	l.stats.dispatches++
	t.schema.flow.dispatched(l.at.Sub(t.arrived))
}

func (l *level) countExecuting(t *Ticket, by int) {
	if t.request.mutating() {
		l.writesIn += by
	} else {
		l.readsIn += by
	}
}

// occupy adds to the seats in use by a request.
func (l *level) occupy(t *Ticket, by int) {
	l.seatsInUse += by
	t.schema.flow.seats += by
	if t.queue != nil {
		t.queue.seats += by
	}
}

// giveUp rejects a waiting request. If it was dispatched in the meantime, it returns "".
func (l *level) giveUp(t *Ticket, reason Rejection) Rejection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.phase != waiting {
		return ""
	}
	l.advance()
	l.dequeue(t)
	l.idle(t.queue)
	l.reject(t, reason)
	l.dispatch()
	l.changed()
	return reason
}

// idle marks a queue as inactive if it has no requests.
func (l *level) idle(q *queue) {
	if !q.active() {
		l.active--
	}
}

// leave ends the execution of a request.
func (l *level) leave(t *Ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.phase != executing {
		return
	}
	l.advance()
	took := l.at.Sub(t.started)
	t.schema.flow.executed(t, took)
	l.countExecuting(t, -1)
	if q := t.queue; q != nil {
		q.next += (took.Seconds() - estimatedSeconds) * float64(t.seats)
	}
	if t.extra <= 0 || t.finalSeats == 0 {
		l.end(t, t.seats)
	} else {
		t.phase = lingering
		l.occupy(t, t.finalSeats-t.seats)
		l.clock.AfterFunc(t.extra, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.advance()
			l.end(t, t.finalSeats)
			l.dispatch()
			l.changed()
		})
	}
	l.dispatch()
	l.changed()
}

// end releases the last seats of a request.
func (l *level) end(t *Ticket, seats int) {
	t.phase = done
	l.occupy(t, -seats)
	if t.passed {
		l.passed--
	}
	l.executing--
	t.schema.flow.executing--
	if q := t.queue; q != nil {
		q.executing--
		l.idle(q)
	}
	if t.before != nil {
		t.before.after = t.after
	} else {
		l.requests = t.after
	}
	if t.after != nil {
		t.after.before = t.before
	}
	t.before, t.after = nil, nil
}
