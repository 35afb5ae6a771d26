package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/storage/postgres/postgrestest"
)

const postgresURL = "postgres://postgres@%s/postgres?sslmode=disable"

// TestLinearizableOnPostgres is TestLinearizable with three replicas on PostgreSQL: their connections are cut and
// slowed, and so is the server killed, or its standby promoted, or the replicas are killed.
func TestLinearizableOnPostgres(t *testing.T) {
	const replicas = 3
	t.Run("CutOff", func(t *testing.T) {
		together(t)
		r := newRecorder(t, replicas, postgresURL, harness.StartPostgres(t).Host())
		r.linearizable(t, r.proxyFaults(), nil)
	})
	t.Run("Killed", func(t *testing.T) {
		together(t)
		store := harness.StartPostgres(t)
		r := newRecorder(t, replicas, postgresURL, store.Host())
		stop := beside(t, func() error {
			store.Kill()
			return store.Start()
		})
		r.linearizable(t, r.proxyFaults(), func() string { return fmt.Sprintf("PostgreSQL killed %d times", stop()) })
	})
	t.Run("FailedOver", func(t *testing.T) {
		together(t)
		p := startPair(t)
		r := newRecorder(t, replicas, postgresURL, p.primary.Host(), p.standby.Host())
		stop := beside(t, func() error { return p.failOver(t.Context(), r.proxies) })
		r.linearizable(t, r.proxyFaults(), func() string {
			return fmt.Sprintf("%d times the standby promoted after the primary was killed", stop())
		})
	})
	t.Run("ReplicasKilled", func(t *testing.T) {
		together(t)
		r := newRecorder(t, replicas, postgresURL, harness.StartPostgres(t).Host())
		n := 0
		r.linearizable(t, append(r.proxyFaults(), func() {
			n++
			s := r.servers[rand.IntN(replicas)]
			s.Kill()
			s.Restart(t)
		}), func() string { return fmt.Sprintf("replicas killed %d times", n) })
	})
}

// beside repeats a fault of the store until stop, which waits for the last one and returns how many there were.
func beside(t *testing.T, fault func() error) (stop func() int) {
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	n := 0
	running.Go(func() {
		for ctx.Err() == nil {
			if err := fault(); err != nil {
				t.Error(err)
				return
			}
			n++
			select {
			case <-time.After(epochTime):
			case <-ctx.Done():
			}
		}
	})
	stop = sync.OnceValue(func() int {
		cancel()
		running.Wait()
		return n
	})
	t.Cleanup(func() { stop() })
	return stop
}

// pair is a server and the standby that its commits wait for.
type pair struct {
	primary, standby *postgrestest.Server
	failovers        int
}

func startPair(t *testing.T) *pair {
	primary, err := postgrestest.New()
	postgrestest.Need(t, err)
	p := &pair{primary: primary}
	t.Cleanup(func() {
		for _, s := range []*postgrestest.Server{p.primary, p.standby} {
			if s != nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
	if err := p.follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// follow starts a standby of the primary, whose commits then wait for it.
func (p *pair) follow(ctx context.Context) (err error) {
	if p.standby, err = p.primary.Standby(); err != nil {
		return err
	}
	return p.primary.Synchronize(ctx)
}

// failOver kills the primary, promotes the standby, and starts another one where the primary was. Replicas reach both
// through their proxies, in either order.
func (p *pair) failOver(ctx context.Context, proxies [][]*proxy) error {
	p.primary.Kill()
	if err := p.standby.Promote(); err != nil {
		return err
	}
	p.failovers++
	old := p.primary
	p.primary, p.standby = p.standby, nil
	if err := old.Close(); err != nil {
		return err
	}
	if err := p.follow(ctx); err != nil {
		return err
	}
	for _, of := range proxies {
		of[p.failovers%2^1].aim(p.standby.Host())
	}
	return nil
}
