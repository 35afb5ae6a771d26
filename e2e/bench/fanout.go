package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// fanOut opens watches of one object and measures how its changes reach them:
// an operation is a delivery, a latency is from before the write to the arrival.
func fanOut(watchers, events int) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		w, err := b.openFan(r, watchers, b.n(events))
		if err != nil {
			return measured{}, err
		}
		return b.deliver(w, r, b.n(events))
	}
}

// openFan opens watches of one object that end after so many events.
func (b *bench) openFan(r resource, watchers, events int) (*watches, error) {
	return b.openWatches(r, watchers, r.collection+"?watch=true&fieldSelector=metadata.name%3Do000000", events)
}

// deliver changes the object of watches that openFan has opened, and ends them.
func (b *bench) deliver(w *watches, r resource, events int) (measured, error) {
	defer w.cancel()
	before, start := cpuTime(b.target.pids), time.Now()
	sent := make([]time.Time, events)
	for i := range events {
		sent[i] = time.Now()
		if _, err := b.loader.send(b.loader.clients[i%clients], r.merge(0, int(sent[i].UnixNano()))); err != nil {
			return measured{}, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	stop := time.AfterFunc(time.Minute, w.cancel)
	w.done.Wait()
	stop.Stop()
	m := measured{ops: len(w.arrivals) * events, elapsed: time.Since(start), cpu: cpuTime(b.target.pids) - before}
	var latencies []time.Duration
	for _, times := range w.arrivals {
		for i, t := range times {
			latencies = append(latencies, t.Sub(sent[i]))
		}
	}
	if len(latencies) < m.ops {
		return m, fmt.Errorf("%d of %d events arrived: %w", len(latencies), m.ops, w.failure())
	}
	slices.Sort(latencies)
	m.p50, m.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
	return m, nil
}

// watches are many clients that wait for events.
type watches struct {
	cancel   context.CancelFunc
	done     sync.WaitGroup
	arrivals [][]time.Time

	mu  sync.Mutex
	err error
}

func (w *watches) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = errors.Join(w.err, err)
}

func (w *watches) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// openWatches opens n watches of a path and returns when all are open. Each ends
// after so many events.
func (b *bench) openWatches(r resource, n int, path string, events int) (*watches, error) {
	version, err := b.version(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watches{cancel: cancel, arrivals: make([][]time.Time, n)}
	var opened sync.WaitGroup
	for i := range n {
		opened.Add(1)
		w.done.Go(func() {
			isOpen := sync.OnceFunc(opened.Done)
			defer isOpen()
			var err error
			if w.arrivals[i], err = b.watch(ctx, i, path+"&resourceVersion="+version, events, isOpen); err != nil &&
				ctx.Err() == nil {
				w.fail(err)
			}
		})
	}
	opened.Wait()
	if err := w.failure(); err != nil {
		cancel()
		return nil, err
	}
	time.Sleep(100 * time.Millisecond)
	return w, nil
}

// watch reads events until it has n, and returns when each came.
func (b *bench) watch(ctx context.Context, client int, path string, n int, opened func()) ([]time.Time, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.loader.url+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := b.loader.clients[client%clients].Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch: %s", resp.Status)
	}
	opened()
	times := make([]time.Time, 0, n)
	lines := bufio.NewReaderSize(resp.Body, 8<<10)
	for len(times) < n {
		line, err := lines.ReadSlice('\n')
		if err == nil && b.loader.replies != nil {
			b.loader.replies.record(req, resp, bytes.Clone(line))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return times, err
		}
		times = append(times, time.Now())
	}
	return times, nil
}
