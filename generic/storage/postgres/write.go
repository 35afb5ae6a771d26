package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
	// maxFlights is the number of transactions of a process. While one is committed, the next waits for the lock.
	maxFlights   = 2
	writeTimeout = 10 * time.Second

	writeSQL = `SELECT done, revision, value FROM triplane.write($1, $2, $3, $4)`
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
	state    atomic.Int32
	finished chan struct{} // closed when result and err are set
	result   written
	err      error
}

// States of a write.
const (
	waiting int32 = iota
	sent
	abandoned
)

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

	mu      sync.Mutex
	queue   []*write
	flights int
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
	op.finished = make(chan struct{})
	w.mu.Lock()
	if w.backend.ctx.Err() != nil {
		w.mu.Unlock()
		return written{}, storage.ErrStopped
	}
	w.queue = append(w.queue, op)
	if w.flights < maxFlights {
		w.flights++
		w.backend.running.Go(w.run)
	}
	w.mu.Unlock()
	select {
	case <-op.finished:
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
		batch := w.next()
		if batch == nil {
			return
		}
		err := worker.Try(func() error { return w.execute(batch) })
		for i, op := range batch {
			op.err = err
			if errors.Is(err, storage.ErrTooLarge) && len(batch) > 1 { // one key was too long, and nothing was written
				op.err = worker.Try(func() error { return w.execute(batch[i : i+1]) })
			}
			close(op.finished)
		}
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
	if batch == nil {
		w.flights--
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
	for i, op := range batch {
		keys[i], values[i], expected[i], ttls[i] = []byte(op.key), op.value, op.expected, op.ttl.Seconds()
	}
	protect(conn.Conn(), true)
	rows, err := conn.Query(ctx, writeSQL, keys, values, expected, ttls)
	n, last := 0, int64(0)
	if err == nil {
		for rows.Next() && n < len(batch) {
			r := &batch[n].result
			if err = rows.Scan(&r.done, &r.revision, &r.value); err != nil {
				break
			}
			if r.done {
				last = r.revision
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
		return b.translateWrite(true, err)
	case n != len(batch):
		return fmt.Errorf("%w: %d results of %d writes", storage.ErrUnavailable, n, len(batch))
	}
	b.poller.notify(last)
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
