package main

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Two users who may read everything.
const (
	lightUser = "light"
	floodUser = "flood"
)

// readers lets both read.
var readers = setupObject{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"bench-readers"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"light"},{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"flood"}]}`}

// beside measures the gets of one user, one after the other, alone or while
// another user lists everything on all connections: what priority and fairness
// leaves of a light user's latency. The flood ends in 429 now and then; that is
// part of it.
func beside(flood bool) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		if err := b.create(readers); err != nil {
			return measured{}, err
		}
		own := newLoader(b.target.url, b.target.tls)
		defer own.close()
		one := func() error {
			_, err := own.send(own.clients[0], request{method: "GET", path: r.path(0), want: 200, user: lightUser})
			return err
		}
		for one() != nil {
			time.Sleep(10 * time.Millisecond) // until the binding is known
		}
		if flood {
			defer b.flood(r)()
			time.Sleep(500 * time.Millisecond) // the connections of the flood open
		}
		return b.alternate(b.n(2000), one)
	}
}

// flood lists the resource from all clients until the returned function is called.
func (b *bench) flood(r resource) (stop func()) {
	var over atomic.Bool
	var all sync.WaitGroup
	for _, c := range b.loader.clients {
		all.Go(func() {
			for !over.Load() {
				var refused *statusError
				_, err := b.loader.send(c, request{method: "GET", path: r.collection, want: 200, user: floodUser})
				if err != nil && !errors.As(err, &refused) {
					return
				}
			}
		})
	}
	return func() {
		over.Store(true)
		all.Wait()
	}
}

// alternate measures n operations, one after the other.
func (b *bench) alternate(n int, one func() error) (measured, error) {
	took := make([]time.Duration, n)
	before, start := cpuTime(b.target.pids), time.Now()
	for i := range n {
		begun := time.Now()
		if err := one(); err != nil {
			return measured{}, err
		}
		took[i] = time.Since(begun)
	}
	m := measured{ops: n, elapsed: time.Since(start), cpu: cpuTime(b.target.pids) - before}
	slices.Sort(took)
	m.p50, m.p99 = took[n/2], took[n*99/100]
	return m, nil
}
