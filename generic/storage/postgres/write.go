package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triplane.dev/generic/storage"
	"triplane.dev/internal/worker"
)

const (
	// maxValue is about the default maximum size of a value in etcd.
	maxValue = 1.5 * 1024 * 1024
	// maxBatch and maxBatchBytes limit the writes of one transaction.
	maxBatch      = 256
	maxBatchBytes = 8 << 20
	// maxFlights is the number of transactions of a process. The second one begins if the first is late, because its
	// connection may be broken.
	maxFlights   = 2
	late         = 250 * time.Millisecond
	writeTimeout = 10 * time.Second
	// maxGather limits how long a transaction waits for the writes that are expected, as does a share of the duration of
	// the last transaction.
	maxGather   = 2 * time.Millisecond
	gatherShare = 4

	writeSQL = `SELECT done, revision, value FROM triplane.write($1, $2, $3, $4, $5, $6)`
)

// Create implements storage.Backend.
func (b *Backend) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	w, err := b.writer.do(ctx, &write{key: key, value: clone(value), expected: -1, ttl: ttl})
	if err == nil && !w.done {
		err = storage.ErrExists
	}
	return w.revision, err
}

// Update implements storage.Backend.
func (b *Backend) Update(ctx context.Context, key string, value []byte, expected int64, ttl time.Duration) (int64,
	error) {
	return b.replace(ctx, &write{key: key, value: clone(value), expected: expected, ttl: ttl})
}

// Delete implements storage.Backend.
func (b *Backend) Delete(ctx context.Context, key string, expected int64) (int64, error) {
	return b.replace(ctx, &write{key: key, expected: expected})
}

// replace executes a write of a key at its expected revision. It returns the revision of the change.
func (b *Backend) replace(ctx context.Context, op *write) (int64, error) {
	w, err := b.writer.do(ctx, op)
	if err != nil {
		return 0, err
	}
	if w.done {
		return w.revision, nil
	}
	conflict := &storage.ConflictError{Key: op.key, Expected: op.expected}
	if w.revision > 0 {
		conflict.Current = &storage.KeyValue{Key: op.key, Value: w.value, Revision: w.revision}
	}
	return 0, conflict
}

// clone copies a value, because a caller whose context ends returns while the value may still be sent. nil becomes
// the empty value.
func clone(value []byte) []byte {
	if len(value) == 0 {
		return []byte{}
	}
	return bytes.Clone(value)
}

// write is a write that waits for a transaction.
type write struct {
	key      string
	value    []byte // nil deletes the key
	expected int64
	ttl      time.Duration
	// condition is that of the context; the zero value is none.
	condition storage.Condition
	state     atomic.Int32
	finished  chan struct{} // closed when result and err are set
	result    written
	err       error
}

// States of a write.
const (
	waiting int32 = iota
	sent
	abandoned
)

// unmet is the revision of a write whose condition does not hold.
const unmet = -1

// written is the result of a write: its revision if done, otherwise the current revision and value of the key.
type written struct {
	done     bool
	revision int64
	value    []byte
}

// writer executes the writes of a process. Writes that arrive during a transaction share the next one.
type writer struct {
	backend *Backend
	timeout time.Duration // of a transaction
	batches batchCounts

	mu       sync.Mutex
	queue    []*write
	flights  int
	begun    time.Time     // when the last transaction began
	took     time.Duration // how long it took
	expected int           // writes of the next transaction
	gathered chan struct{} // closed when the queue has the expected writes; nil if no flight waits for them
	busy     []uint32      // the sessions of the flights, processes of the server
}

// batchCounts counts the transactions and the writes in them.
type batchCounts struct{ transactions, writes atomic.Int64 }

// do executes a write. If ctx ends before it was sent, it is not executed.
func (w *writer) do(ctx context.Context, op *write) (written, error) {
	if err := ctx.Err(); err != nil {
		return written{}, err
	}
	if len(op.key)+len(op.value) > maxValue {
		return written{}, storage.ErrTooLarge
	}
	op.condition, _ = storage.ConditionOf(ctx)
	op.finished = make(chan struct{})
	w.mu.Lock()
	if w.backend.ctx.Err() != nil {
		w.mu.Unlock()
		return written{}, storage.ErrStopped
	}
	w.queue = append(w.queue, op)
	if w.gathered != nil && len(w.queue) >= w.expected {
		close(w.gathered)
		w.gathered = nil
	}
	if w.flights == 0 || w.flights < maxFlights && time.Since(w.begun) > late {
		w.flights++
		w.backend.running.Go(w.run)
	}
	w.mu.Unlock()
	select {
	case <-op.finished:
		if op.err == nil && op.result.revision == unmet {
			return written{}, storage.ErrCondition
		}
		if op.err == nil && op.result.done {
			w.backend.poller.reach(ctx, op.result.revision)
		}
		return op.result, op.err
	case <-ctx.Done():
		op.state.CompareAndSwap(waiting, abandoned)
		return written{}, ctx.Err()
	}
}

// run executes transactions until no write waits.
func (w *writer) run() {
	for {
		w.gather()
		batch := w.next()
		if batch == nil {
			return
		}
		begun := time.Now()
		err := worker.Try(func() error { return w.execute(batch) })
		w.executed(len(batch), time.Since(begun))
		for i, op := range batch {
			op.err = err
			if errors.Is(err, storage.ErrTooLarge) && len(batch) > 1 { // one key was too long, and nothing was written
				op.err = worker.Try(func() error { return w.execute(batch[i : i+1]) })
			}
			close(op.finished)
		}
	}
}

// executed records a transaction. The callers of its writes, which are about to return, may soon write again: with
// those that wait already, their number is the one that the next transaction expects. Without this, the first caller
// would get a transaction for itself, and the others would wait for two.
func (w *writer) executed(writes int, took time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.took, w.expected = took, min(writes+len(w.queue), maxBatch)
}

// gather waits a short time for the writes that the next transaction expects.
func (w *writer) gather() {
	w.mu.Lock()
	if len(w.queue) >= w.expected || w.gathered != nil {
		w.mu.Unlock()
		return
	}
	gathered := make(chan struct{})
	w.gathered = gathered
	timer := time.NewTimer(min(w.took/gatherShare, maxGather))
	w.mu.Unlock()
	defer timer.Stop()
	select {
	case <-gathered:
	case <-timer.C:
		w.mu.Lock()
		if w.gathered == gathered {
			w.gathered = nil
		}
		w.mu.Unlock()
	}
}

// next takes the writes of a transaction from the queue. It returns nil and ends the flight if no write waits.
func (w *writer) next() []*write {
	w.mu.Lock()
	defer w.mu.Unlock()
	var batch []*write
	size, n := 0, 0
	for _, op := range w.queue {
		if len(batch) == maxBatch || len(batch) > 0 && size+len(op.value) > maxBatchBytes {
			break
		}
		n++
		if op.state.CompareAndSwap(waiting, sent) {
			batch = append(batch, op)
			size += len(op.key) + len(op.value)
		}
	}
	w.queue = append(w.queue[:0:0], w.queue[n:]...)
	w.begun = time.Now()
	if batch == nil {
		w.flights--
		w.expected = 0
	}
	return batch
}

// execute runs a transaction and sets the results of its writes.
func (w *writer) execute(batch []*write) error {
	b := w.backend
	ctx, cancel := context.WithTimeout(b.ctx, b.writer.timeout)
	defer cancel()
	conn, err := b.pool.Acquire(ctx)
	if err != nil {
		return b.translateWrite(false, err)
	}
	defer conn.Release()
	keys, values := make([][]byte, len(batch)), make([][]byte, len(batch))
	expected, ttls := make([]int64, len(batch)), make([]float64, len(batch))
	conditions, required := make([][]byte, len(batch)), make([]int64, len(batch))
	for i, op := range batch {
		keys[i], values[i], expected[i], ttls[i] = []byte(op.key), op.value, op.expected, op.ttl.Seconds()
		if c := op.condition; c.Key != "" {
			conditions[i], required[i] = []byte(c.Key), c.Revision
		}
	}
	protect(conn.Conn(), true)
	defer w.begin(conn.Conn().PgConn().PID())()
	rows, err := conn.Query(ctx, writeSQL, keys, values, expected, ttls, conditions, required)
	n := 0
	var changes []logged
	if err == nil {
		for rows.Next() && n < len(batch) {
			r := &batch[n].result
			if err = rows.Scan(&r.done, &r.revision, &r.value); err != nil {
				break
			}
			if r.done {
				changes = append(changes, batch[n].change())
			}
			n++
		}
		rows.Close() // reads the result of the commit
		err = firstError(rows.Err(), err)
	}
	if !broken(err) {
		protect(conn.Conn(), false)
	}
	w.batches.transactions.Add(1)
	w.batches.writes.Add(int64(len(batch)))
	switch {
	case err != nil:
		if broken(err) {
			b.pool.Reset()
		}
		b.poller.kick() // it may have been committed
		return b.translateWrite(true, err)
	case n != len(batch):
		return fmt.Errorf("%w: %d results of %d writes", storage.ErrUnavailable, n, len(batch))
	}
	b.poller.committed(changes)
	return nil
}

// begin records that a session executes writes, until end is called.
func (w *writer) begin(session uint32) (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = append(w.busy, session)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		i := slices.Index(w.busy, session)
		w.busy = slices.Delete(w.busy, i, i+1)
	}
}

// executes reports whether a session executes writes of this process, whose changes need no poll.
func (w *writer) executes(session uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.busy, session)
}

// change returns the change of a write that was done.
func (w *write) change() logged {
	return logged{
		Change:   storage.Change{Key: w.key, Value: w.value, Revision: w.result.revision},
		previous: max(0, w.expected),
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
