package main

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// rawCreate is the row of the transactions of a store without an API server.
const rawCreate = "raw etcd, create transaction"

// measureEtcd measures the transactions that an API server makes to create
// objects of 0.5 KB, without one: nothing on top of an etcd process can be faster.
func measureEtcd(res *results, name string, t *target) error {
	if !wanted("raw etcd") {
		return nil
	}
	var connections [clients]*clientv3.Client
	for i := range connections {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{t.url}, DialTimeout: 5 * time.Second})
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		connections[i] = c
	}
	return creations(res, name, t, func(ctx context.Context, client int, key, value string) error {
		_, err := connections[client].Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, value)).Else(clientv3.OpGet(key)).Commit()
		return err
	})
}

// creations enters the row of the transactions that create keys of 0.5 KB.
func creations(res *results, server string, t *target,
	create func(ctx context.Context, client int, key, value string) error) error {
	value, n := strings.Repeat("v", 512), max(1, int(20000**scale))
	latencies := make([]time.Duration, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failure error
	before, start := cpuTime(t.pids), time.Now()
	for client := range clients {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				key, t := "/registry/configmaps/default/"+name("o", i), time.Now()
				err := create(context.Background(), client, key, value)
				latencies[i] = time.Since(t)
				if err != nil {
					once.Do(func() { failure = err })
					return
				}
			}
		})
	}
	wg.Wait()
	m := measured{ops: n, elapsed: time.Since(start), cpu: cpuTime(t.pids) - before}
	slices.Sort(latencies)
	m.p50, m.p99 = latencies[n/2], latencies[n*99/100]
	if failure == nil {
		res.add("key of 0.5 KB", rawCreate, server, m)
	}
	return failure
}
