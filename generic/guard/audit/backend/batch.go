package backend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/flowcontrol"

	"triplane.dev/generic/guard/audit"
	"triplane.dev/internal/worker"
)

// maxBufferedBytes limits the bytes of events that are buffered or being sent, by Event.Size.
const maxBufferedBytes = 256 << 20

// BatchConfig configures the buffering of events.
type BatchConfig struct {
	// BufferSize is the maximum number of buffered events. Further events are lost.
	BufferSize int
	// A batch is sent when it has MaxSize events, or MaxWait after its first event. With MaxWait 0 it has the
	// events that are buffered.
	MaxSize int
	MaxWait time.Duration
	// ThrottleQPS limits the batches per second, with bursts of ThrottleBurst; 0 is unlimited.
	ThrottleQPS   float32
	ThrottleBurst int
	// Parallel is the maximum number of batches sent concurrently.
	Parallel int
}

// Batch buffers events and sends them in batches, so that requests do not wait. Its goroutine starts with the
// first event and ends with Close.
type Batch struct {
	next     audit.Backend
	config   BatchConfig
	throttle flowcontrol.RateLimiter
	failures

	queue     chan *audit.Event
	bytes     atomic.Int64
	slots     chan struct{}
	sending   worker.Group
	start     sync.Once
	stop      context.CancelFunc
	stopping  context.Context //nolint:containedctx // the goroutine's
	collected chan struct{}   // closed when the buffer is drained after stop
}

// NewBatch returns a backend that sends batches to next.
func NewBatch(next audit.Backend, c BatchConfig, m *audit.Metrics) *Batch {
	b := &Batch{
		next: next, config: c, failures: newFailures(pluginBuffered, m),
		queue: make(chan *audit.Event, c.BufferSize), slots: make(chan struct{}, max(c.Parallel, 1)),
		collected: make(chan struct{}),
	}
	b.stopping, b.stop = context.WithCancel(context.Background())
	if c.ThrottleQPS > 0 {
		b.throttle = flowcontrol.NewTokenBucketRateLimiter(c.ThrottleQPS, c.ThrottleBurst)
	}
	return b
}

var (
	errFull    = errors.New("audit buffer queue blocked")
	errStopped = errors.New("audit backend shut down")
)

// Process implements audit.Backend. It never blocks and always returns true. Events that do not fit into the
// buffer are lost.
func (b *Batch) Process(events ...*audit.Event) bool {
	b.start.Do(func() { worker.Go(b.run) })
	for i, e := range events {
		if b.stopping.Err() != nil {
			b.failed(errStopped, len(events)-i)
			return true
		}
		if !b.enqueue(e) {
			b.failed(errFull, 1)
		}
	}
	return true
}

func (b *Batch) enqueue(e *audit.Event) bool {
	size := int64(e.Size())
	if b.bytes.Add(size) > maxBufferedBytes {
		b.bytes.Add(-size)
		return false
	}
	select {
	case b.queue <- e:
		return true
	default:
		b.bytes.Add(-size)
		return false
	}
}

func (b *Batch) run() {
	defer close(b.collected)
	for {
		batch := b.collect()
		if len(batch) == 0 {
			b.sending.Wait()
			return
		}
		b.send(batch)
	}
}

// collect returns the next batch. It is empty when the backend is stopped and the buffer is drained.
func (b *Batch) collect() []*audit.Event {
	var batch []*audit.Event
	select {
	case e := <-b.queue:
		batch = append(batch, e)
	case <-b.stopping.Done():
	}
	if b.config.MaxWait > 0 {
		b.wait(&batch)
	}
	for len(batch) < b.config.MaxSize {
		select {
		case e := <-b.queue:
			batch = append(batch, e)
			continue
		default:
		}
		break
	}
	return batch
}

// wait adds events until the batch is full or MaxWait has passed.
func (b *Batch) wait(batch *[]*audit.Event) {
	timer := time.NewTimer(b.config.MaxWait)
	defer timer.Stop()
	for len(*batch) < b.config.MaxSize {
		select {
		case e := <-b.queue:
			*batch = append(*batch, e)
		case <-timer.C:
			return
		case <-b.stopping.Done():
			return
		}
	}
}

// send waits for the throttle and a slot, and sends a batch in a goroutine.
func (b *Batch) send(batch []*audit.Event) {
	if b.throttle != nil {
		_ = b.throttle.Wait(b.stopping) // returns at once after Close
	}
	b.slots <- struct{}{}
	b.sending.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				b.failed(fmt.Errorf("panic: %v", p), len(batch))
			}
			for _, e := range batch {
				b.bytes.Add(-int64(e.Size()))
			}
			<-b.slots
		}()
		b.next.Process(batch...)
	})
}

// Close implements audit.Backend.
func (b *Batch) Close(ctx context.Context) {
	b.stop()
	b.start.Do(func() { worker.Go(b.run) })
	select {
	case <-b.collected:
	case <-ctx.Done():
	}
	b.next.Close(ctx)
	<-b.collected
}
