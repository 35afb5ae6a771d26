package worker

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// QueueConfig configures a Queue.
type QueueConfig[K comparable] struct {
	// Name is the label of the metrics. Metrics may be nil.
	Name    string
	Metrics workqueue.MetricsProvider
	// Workers is how many keys are processed at the same time; less than 1 is 1.
	Workers int
	// FirstRetry is the delay after a failure, which doubles with each further failure of the key up to LastRetry.
	FirstRetry, LastRetry time.Duration
	// Failed is called after each failure of a key with the number of its failures in a row, before the key is
	// retried. It must not use the queue. Nil does nothing.
	Failed func(key K, failures int, err error)
}

// Queue calls a function for keys. It never processes a key twice at the same time, and retries after an error or a
// panic. It has goroutines only while there are keys to process. Its methods are safe for concurrent use.
type Queue[K comparable] struct {
	config  QueueConfig[K]
	work    func(ctx context.Context, key K) error
	metrics *queueMetrics // nil without metrics

	mu      sync.Mutex
	ctx     context.Context //nolint:containedctx // of Start; nil before
	ended   chan struct{}   // closed when no worker runs after the end of ctx
	stopped bool
	items   map[K]*queued // the keys that wait, are processed, are delayed, or have failed
	waiting []K
	active  int // workers, of which busy process a key
	busy    int
}

// queued is the state of a key.
type queued struct {
	wanted   bool // it waits, or is to be processed again
	running  bool
	since    time.Time // when it was added, or its processing began
	failures int
	due      time.Time // of delay
	delay    *time.Timer
	must     time.Time // the earliest time of AddAfter since the last processing
}

// NewQueue returns a queue. It processes nothing before Start.
func NewQueue[K comparable](c QueueConfig[K], work func(ctx context.Context, key K) error) *Queue[K] {
	q := &Queue[K]{config: c, work: work, ended: make(chan struct{})}
	if c.Metrics != nil {
		q.metrics = newQueueMetrics(c.Metrics, c.Name)
	}
	return q
}

// Start processes keys until ctx is done. It returns at once and may be called once.
func (q *Queue[K]) Start(ctx context.Context) {
	q.mu.Lock()
	q.ctx = ctx
	q.hire()
	q.mu.Unlock()
	context.AfterFunc(ctx, q.stop)
}

// Wait returns when no key is processed after the end of the context of Start.
func (q *Queue[K]) Wait() { <-q.ended }

// Run is Start and Wait.
func (q *Queue[K]) Run(ctx context.Context) {
	q.Start(ctx)
	q.Wait()
}

// stop drops the keys.
func (q *Queue[K]) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopped = true
	for _, i := range q.items {
		i.cancelDelay()
		if i.wanted {
			q.metrics.dropped()
		}
	}
	if q.active == 0 {
		close(q.ended)
	}
}

// Add adds a key, unless it waits already. A key that is being processed is processed once more.
func (q *Queue[K]) Add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(key)
}

// AddAfter adds a key after a delay. Of several delays of a key the one that ends first counts.
func (q *Queue[K]) AddAfter(key K, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAfter(key, delay, true)
}

// Recheck is AddAfter for a key that needs no processing if the queue has ended by then: Due omits it.
func (q *Queue[K]) Recheck(key K, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addAfter(key, delay, false)
}

// Due returns when there is work next: now if a key waits or is being processed, and the zero time if there is none. A
// key that failed is due after a delay that doubles without the limit LastRetry, so that keys which always fail become
// rare.
func (q *Queue[K]) Due() (next time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for _, i := range q.items {
		at := i.must
		switch {
		case i.wanted || i.running:
			at = now
		case i.failures > 0:
			at = i.since.Add(doubled(q.config.FirstRetry, i.failures, rarest))
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// rarest limits the delay of Due after failures.
const rarest = 24 * time.Hour

// Forget resets the number of failures of a key.
func (q *Queue[K]) Forget(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := q.items[key]; i != nil {
		i.failures = 0
		q.drop(key, i)
	}
}

// Len returns the number of keys that wait.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// item returns the state of a key. The caller holds q.mu.
func (q *Queue[K]) item(key K) *queued {
	i := q.items[key]
	if i == nil {
		if q.items == nil {
			q.items = map[K]*queued{}
		}
		i = &queued{}
		q.items[key] = i
	}
	return i
}

func (q *Queue[K]) add(key K) {
	if q.stopped {
		return
	}
	i := q.item(key)
	if i.wanted {
		return
	}
	i.wanted = true
	q.metrics.added()
	if i.running {
		return
	}
	q.push(key, i)
}

// push appends a key to those that wait, and starts a worker if there may be one more.
func (q *Queue[K]) push(key K, i *queued) {
	i.since = time.Now()
	q.waiting = append(q.waiting, key)
	q.hire()
}

func (q *Queue[K]) addAfter(key K, delay time.Duration, must bool) {
	if q.stopped {
		return
	}
	q.metrics.retried()
	if delay <= 0 {
		q.add(key)
		return
	}
	i, due := q.item(key), time.Now().Add(delay)
	if must && (i.must.IsZero() || due.Before(i.must)) {
		i.must = due
	}
	if i.delay != nil && !due.Before(i.due) {
		return
	}
	i.cancelDelay()
	i.due = due
	var timer *time.Timer
	timer = time.AfterFunc(delay, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if i.delay == timer {
			i.delay = nil
			q.add(key)
		}
	})
	i.delay = timer
}

func (i *queued) cancelDelay() {
	if i.delay != nil {
		i.delay.Stop()
		i.delay = nil
	}
}

// hire starts workers for the keys that wait. The caller holds q.mu.
func (q *Queue[K]) hire() {
	for q.ctx != nil && !q.stopped && q.active < max(q.config.Workers, 1) && q.active-q.busy < len(q.waiting) {
		q.active++
		if q.active == 1 {
			q.metrics.watch(q.observe)
		}
		Go(q.process)
	}
}

// process processes keys until none waits.
func (q *Queue[K]) process() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && !q.stopped {
		key := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.one(key, q.items[key])
	}
	q.active--
	if q.active > 0 {
		return
	}
	q.waiting = nil
	q.metrics.unwatch()
	if q.stopped {
		close(q.ended)
	}
}

// one processes a key. The caller holds q.mu, which is released during the work.
func (q *Queue[K]) one(key K, i *queued) {
	begun := time.Now()
	q.metrics.begun(begun.Sub(i.since))
	i.wanted, i.running, i.since, i.must = false, true, begun, time.Time{}
	q.busy++
	q.mu.Unlock()
	err := Try(func() error { return q.work(q.ctx, key) })
	q.mu.Lock()
	q.busy--
	i.running = false
	q.metrics.done(time.Since(begun))
	switch {
	case q.stopped:
	case err == nil:
		i.failures = 0
	default:
		i.failures++
		if q.config.Failed != nil {
			q.config.Failed(key, i.failures, err)
		}
		q.addAfter(key, q.backOff(i.failures), true)
	}
	if i.wanted {
		q.push(key, i)
	}
	q.drop(key, i)
}

// drop drops the state of a key for which there is nothing to do.
func (q *Queue[K]) drop(key K, i *queued) {
	if !i.wanted && !i.running && i.delay == nil && i.failures == 0 {
		delete(q.items, key)
	}
}

// backOff returns the delay after the nth failure of a key.
func (q *Queue[K]) backOff(n int) time.Duration {
	return doubled(q.config.FirstRetry, n, max(q.config.FirstRetry, q.config.LastRetry))
}

// doubled returns the nth delay of those that begin with first, double, and end with last.
func doubled(first time.Duration, n int, last time.Duration) time.Duration {
	delay := first
	for ; n > 1 && delay < last; n-- {
		delay *= 2
	}
	return min(delay, last)
}

// observe sets the metrics of the keys that are processed.
func (q *Queue[K]) observe() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.active == 0 {
		return
	}
	var sum, longest time.Duration
	for _, i := range q.items {
		if i.running {
			took := time.Since(i.since)
			sum, longest = sum+took, max(longest, took)
		}
	}
	q.metrics.observe(sum, longest)
}
