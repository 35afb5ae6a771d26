package flowcontrol

import "slices"

// queue is one of a level's queues. The level's mutex guards it.
type queue struct {
	index   int
	waiting []*Ticket
	// executing and seats are of the requests that came through the queue.
	executing, seats int
	// next is the virtual time, in seat-seconds, at which the queue may dispatch
	// again: what its requests took so far, counted from when it became active.
	// Requests that execute are in it with an estimate until they end.
	next float64
}

// guess is the duration in seconds that a request is taken to need until it has
// ended.
const guess = 0.003

// active reports whether the queue takes part in the sharing of seats.
func (q *queue) active() bool { return q.executing > 0 || len(q.waiting) > 0 }

// finish is the virtual time at which the first request that waits would end.
func (q *queue) finish() float64 { return q.next + q.waiting[0].work() }

// backlog is by how much work, in seat-seconds, a new request would have to wait.
func (q *queue) backlog() float64 {
	work := guess * float64(q.seats)
	for _, t := range q.waiting {
		work += t.work()
	}
	return work
}

// remove takes out a request that waits no longer.
func (q *queue) remove(t *Ticket) {
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
}

// choose finds the queue for a new request: of the flow's hand the one with the
// least to do.
func (l *level) choose(hash uint64) *queue {
	var hand [maxHand]int
	var best *queue
	least := 0.0
	for _, i := range deal(hash, len(l.queues), l.handSize, &hand) {
		q := l.queues[i]
		if !q.active() {
			return q
		}
		if work := q.backlog(); best == nil || work < least {
			best, least = q, work
		}
	}
	return best
}

// nextQueue is the one whose first request has the earliest virtual finish time, of
// the requests that are wanted; nil where none is.
func (l *level) nextQueue(wanted func(*Ticket) bool) *queue {
	var best *queue
	least := 0.0
	for _, q := range l.backlogged {
		if !wanted(q.waiting[0]) {
			continue
		}
		if f := q.finish(); best == nil || f < least {
			best, least = q, f
		}
	}
	return best
}
