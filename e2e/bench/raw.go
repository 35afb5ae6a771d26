package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// rawCreate is the row of the transactions of a store without an API server.
	rawCreate = "raw etcd, create transaction"
	// rawKeys is how many keys the curve of writes has: each is written ten times.
	rawKeys = 100_000
	// compacted is the time after which both stores have removed superseded revisions: they do so every five minutes,
	// with those of five minutes before.
	compacted = 12 * time.Minute
)

// rawWrite writes a key of a store as one of the clients. expected is the revision of the key, 0 for a new one; it
// returns the new revision.
type rawWrite func(ctx context.Context, client int, key, value string, expected int64) (int64, error)

// rawStore opens a target's store without an API server. close disconnects.
type rawStore func(t *target) (write rawWrite, close func(), err error)

// openEtcd connects to an etcd, or to what speaks its API. The transactions are those that an API server makes.
func openEtcd(t *target) (rawWrite, func(), error) {
	var connections []*clientv3.Client
	disconnect := func() {
		for _, c := range connections {
			_ = c.Close() // what was measured stands
		}
	}
	for range clients {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{t.url}, DialTimeout: 5 * time.Second})
		if err != nil {
			disconnect()
			return nil, nil, err
		}
		connections = append(connections, c)
	}
	return func(ctx context.Context, client int, key, value string, expected int64) (int64, error) {
		r, err := connections[client].Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", expected)).
			Then(clientv3.OpPut(key, value)).Else(clientv3.OpGet(key)).Commit()
		if err != nil {
			return 0, err
		}
		if !r.Succeeded {
			return 0, fmt.Errorf("key %s is not at revision %d", key, expected)
		}
		return r.Header.Revision, nil
	}, disconnect, nil
}

// measureRaw measures the transactions that create keys of 0.5 KB: nothing on top of a store can be faster.
func measureRaw(open rawStore, res *results, server string, t *target) error {
	if !wanted("raw etcd") {
		return nil
	}
	write, disconnect, err := open(t)
	if err != nil {
		return err
	}
	defer disconnect()
	n := max(1, int(20000**scale))
	latencies := make([]time.Duration, n)
	before, start := cpuTime(t.pids), time.Now()
	err = rawWrites(write, make([]int64, n), func(i int, took time.Duration) { latencies[i] = took })
	if err != nil {
		return err
	}
	m := measured{ops: n, elapsed: time.Since(start), cpu: cpuTime(t.pids) - before}
	slices.Sort(latencies)
	m.p50, m.p99 = latencies[n/2], latencies[n*99/100]
	res.add("key of 0.5 KB", rawCreate, server, m)
	return nil
}

// rawWrites writes each key once, with 0.5 KB. revisions are those of the keys, which it updates.
func rawWrites(write rawWrite, revisions []int64, done func(key int, took time.Duration)) error {
	value := strings.Repeat("v", 512)
	var next atomic.Int64
	var wg sync.WaitGroup
	failures := make([]error, clients)
	for client := range clients {
		wg.Go(func() {
			for failures[client] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(revisions) {
					return
				}
				start := time.Now()
				revisions[i], failures[client] = write(context.Background(), client,
					"/registry/configmaps/default/"+name("o", i), value, revisions[i])
				done(i, time.Since(start))
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}

// writesCurve makes a million writes without an API server, and shows what they leave in the database, at once and
// after its compaction and vacuum.
func writesCurve(open rawStore) func(*bench, *curve) error {
	return func(b *bench, c *curve) error {
		write, disconnect, err := open(b.target)
		if err != nil {
			return err
		}
		defer disconnect()
		revisions, n := make([]int64, b.n(rawKeys)), 0
		for round := 1; round <= 10; round++ {
			start := time.Now()
			if err := rawWrites(write, revisions, func(int, time.Duration) {}); err != nil {
				return err
			}
			n = round * len(revisions)
			if round != 1 && round != 5 && round != 10 {
				continue
			}
			c.add(n, "writes", fmt.Sprintf("%.0f per second", float64(len(revisions))/time.Since(start).Seconds()))
			if err := b.enterDatabase(c, n, "database"); err != nil {
				return err
			}
		}
		time.Sleep(compacted)
		return b.enterDatabase(c, n, fmt.Sprintf("database %v later", compacted))
	}
}
