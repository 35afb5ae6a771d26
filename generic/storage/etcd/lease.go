package etcd

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// LeaseOptions configure the sharing of leases.
type LeaseOptions struct {
	// Reuse is how long after its grant a lease is used for further keys. It defaults to 60 seconds. The lease
	// of a key lasts longer than its ttl by up to Reuse, or by a twentieth of the ttl if that is less.
	Reuse time.Duration
	// MaxObjects limits the keys of one lease. It defaults to 1000.
	MaxObjects int
	// Observe, if set, is called with the number of a lease's keys when it is no longer used for further keys.
	Observe func(objects int)
}

// leases grants leases and shares each among many keys. A separate lease for each key, mostly short-lived
// events, would cost etcd more than the key itself.
type leases struct {
	kv   KV
	opts LeaseOptions
	now  func() time.Time

	mu      sync.Mutex
	current map[time.Duration]*sharedLease // by ttl
}

type sharedLease struct {
	id         int64
	reuseUntil time.Time
	objects    int
}

func newLeases(kv KV, opts LeaseOptions) *leases {
	if opts.Reuse <= 0 {
		opts.Reuse = time.Minute
	}
	if opts.MaxObjects <= 0 {
		opts.MaxObjects = 1000
	}
	return &leases{kv: kv, opts: opts, now: time.Now, current: map[time.Duration]*sharedLease{}}
}

// get returns a lease that lasts for at least ttl. It returns 0 for a ttl of 0.
func (l *leases) get(ctx context.Context, ttl time.Duration) (int64, error) {
	if ttl <= 0 {
		return 0, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.current[ttl]; s != nil {
		if s.objects < l.opts.MaxObjects && l.now().Before(s.reuseUntil) {
			s.objects++
			return s.id, nil
		}
		l.retire(ttl, s)
	}
	return l.grant(ctx, ttl)
}

// grant requests a lease that lasts for ttl after the end of its reuse. The caller holds l.mu: concurrent
// callers need the same lease.
func (l *leases) grant(ctx context.Context, ttl time.Duration) (int64, error) {
	reuse := min(l.opts.Reuse, ttl/20)
	granted := l.now()
	resp, err := l.kv.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: int64(math.Ceil((ttl + reuse).Seconds()))})
	if err != nil {
		return 0, translate(ctx, err)
	}
	l.dropExpired()
	l.current[ttl] = &sharedLease{id: resp.ID, reuseUntil: granted.Add(reuse), objects: 1}
	return resp.ID, nil
}

// drop stops the use of a lease for further keys.
func (l *leases) drop(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ttl, s := range l.current {
		if s.id == id {
			delete(l.current, ttl)
		}
	}
}

// withLease calls txn with a lease for ttl. If the shared lease was revoked, it calls txn a second time with
// another lease.
func (l *leases) withLease(ctx context.Context, ttl time.Duration, txn func(lease int64) error) error {
	id, err := l.get(ctx, ttl)
	if err != nil {
		return err
	}
	if err = txn(id); !errors.Is(err, ErrLeaseLost) {
		return err
	}
	l.drop(id)
	if id, err = l.get(ctx, ttl); err != nil {
		return err
	}
	return txn(id)
}

// dropExpired drops leases that are no longer used for further keys, so that the map does not grow with the number
// of ttls.
func (l *leases) dropExpired() {
	now := l.now()
	for ttl, s := range l.current {
		if !now.Before(s.reuseUntil) {
			l.retire(ttl, s)
		}
	}
}

// retire drops a lease and reports the number of its keys. The caller holds l.mu.
func (l *leases) retire(ttl time.Duration, s *sharedLease) {
	if l.opts.Observe != nil {
		l.opts.Observe(s.objects)
	}
	delete(l.current, ttl)
}
