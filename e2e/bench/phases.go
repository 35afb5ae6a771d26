package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// phase is a row of the results.
type phase struct {
	name string
	run  func(b *bench, r resource) (measured, error)
}

const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// phases in the order in which they run: each finds the objects that those
// before left.
func phases() []phase {
	return []phase{
		{"create", func(b *bench, r resource) (measured, error) {
			return b.load(b.n(3000), func(i int) request {
				return request{method: "POST", path: r.collection, contentType: "application/json", body: r.object(fmt.Sprintf("o%06d", i), "front"), want: 201}
			})
		}},
		{"get, consistent", func(b *bench, r resource) (measured, error) {
			return b.load(b.n(8000), func(i int) request { return request{method: "GET", path: r.path(i % b.n(3000)), want: 200} })
		}},
		{"get, resourceVersion=0", func(b *bench, r resource) (measured, error) {
			return b.load(b.n(8000), func(i int) request {
				return request{method: "GET", path: r.path(i%b.n(3000)) + "?resourceVersion=0", want: 200}
			})
		}},
		{"update", func(b *bench, r resource) (measured, error) {
			return b.load(b.n(3000), func(i int) request {
				return request{method: "PATCH", path: r.path(i), contentType: "application/merge-patch+json", body: fmt.Appendf(nil, r.patch, i), want: 200}
			})
		}},
		{"server-side apply (create)", func(b *bench, r resource) (measured, error) {
			return b.load(b.n(1500), func(i int) request {
				return request{method: "PATCH", path: fmt.Sprintf("%s/s%06d?fieldManager=bench", r.collection, i), contentType: "application/apply-patch+yaml",
					body: r.object(fmt.Sprintf("s%06d", i), "front"), want: 201}
			})
		}},
		{"delete", func(b *bench, r resource) (measured, error) {
			return b.load(b.n(1500), func(i int) request {
				return request{method: "DELETE", path: fmt.Sprintf("%s/s%06d", r.collection, i), want: 200}
			})
		}},
		{"list, JSON", list("", "application/json")},
		{"list, resourceVersion=0", list("?resourceVersion=0", "application/json")},
		{"list, protobuf", func(b *bench, r resource) (measured, error) {
			if !r.protobuf {
				return measured{}, errSkip
			}
			return list("", "application/vnd.kubernetes.protobuf")(b, r)
		}},
		{"page of 500", list("?limit=500", "application/json")},
		{"list as Table", list("", table)},
		{"event to each of 100 watchers", fanOut(100, 300)},
		{"event to each of 1000 watchers", fanOut(1000, 50)},
	}
}

func list(query, accept string) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		return b.load(64, func(int) request {
			return request{method: "GET", path: r.collection + query, accept: accept, want: 200}
		})
	}
}

// fanOut opens watches and measures how events reach them: an operation is a
// delivery, a latency is from before the write to the arrival.
func fanOut(watchers, events int) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		events := b.n(events)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		arrivals := make([][]time.Time, watchers)
		var ready, done sync.WaitGroup
		var failure error
		for w := range watchers {
			ready.Add(1)
			done.Go(func() {
				var once sync.Once
				defer once.Do(ready.Done)
				times, err := b.watch(ctx, w, r, events, func() { once.Do(ready.Done) })
				arrivals[w] = times
				if err != nil && ctx.Err() == nil {
					failure = err
				}
			})
		}
		ready.Wait()
		time.Sleep(200 * time.Millisecond)
		before, start := cpuTime(b.target.pids), time.Now()
		sent := make([]time.Time, events)
		for i := range events {
			sent[i] = time.Now()
			_, err := b.loader.send(b.loader.clients[i%clients], request{method: "PATCH", path: r.path(0), contentType: "application/merge-patch+json",
				body: fmt.Appendf(nil, r.patch, time.Now().UnixNano()), want: 200})
			if err != nil {
				return measured{}, err
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop := time.AfterFunc(20*time.Second, cancel)
		done.Wait()
		stop.Stop()
		m := measured{ops: watchers * events, elapsed: time.Since(start), cpu: cpuTime(b.target.pids) - before}
		var latencies []time.Duration
		for _, times := range arrivals {
			for i, t := range times {
				latencies = append(latencies, t.Sub(sent[i]))
			}
		}
		if len(latencies) < m.ops {
			return m, fmt.Errorf("%d of %d events arrived: %v", len(latencies), m.ops, failure)
		}
		slices.Sort(latencies)
		m.p50, m.p99 = latencies[len(latencies)/2], latencies[len(latencies)*99/100]
		return m, nil
	}
}

// watch reads events of one object until it has n, and returns when each came.
func (b *bench) watch(ctx context.Context, w int, r resource, n int, opened func()) ([]time.Time, error) {
	url := b.loader.url + r.collection + "?watch=true&fieldSelector=metadata.name%3Do000000&resourceVersion=" + b.version(ctx, r)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := b.loader.clients[w%clients].Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watch: %s", resp.Status)
	}
	opened()
	times := make([]time.Time, 0, n)
	lines := bufio.NewReaderSize(resp.Body, 64<<10)
	for len(times) < n {
		if _, err := lines.ReadSlice('\n'); err != nil {
			return times, err
		}
		times = append(times, time.Now())
	}
	return times, nil
}
