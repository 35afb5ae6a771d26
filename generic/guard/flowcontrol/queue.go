package flowcontrol

import "slices"

// queue is one queue of a level. The level's mutex guards it.
type queue struct {
	index   int
	waiting []*Ticket
	// executing and seats count the executing requests that were dispatched from the queue.
	executing, seats int
	// next is the virtual time, in seat-seconds, of the next dispatch: the work of the queue's requests since
	// it became active. Executing requests count with their estimate.
	next float64
}

// estimatedSeconds is the assumed duration of a request before it ends.
const estimatedSeconds = 0.003

// active reports whether the queue takes part in fair queuing.
func (q *queue) active() bool { return q.executing > 0 || len(q.waiting) > 0 }

// finish is the virtual finish time of the first waiting request.
func (q *queue) finish() float64 { return q.next + q.waiting[0].work() }

// backlog is the work, in seat-seconds, before a new request.
func (q *queue) backlog() float64 {
	work := estimatedSeconds * float64(q.seats)
	for _, t := range q.waiting {
		work += t.work()
	}
	return work
}

// remove removes a waiting request.
func (q *queue) remove(t *Ticket) {
	if i := slices.Index(q.waiting, t); i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
}

// choose returns the queue for a new request: the one with the smallest backlog in the flow's hand.
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

// nextQueue returns the queue whose first request has the earliest virtual finish time, among requests for
// which wanted returns true, or nil.
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
