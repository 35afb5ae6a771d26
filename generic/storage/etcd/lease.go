package etcd

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// LeaseOptions say how far a lease is shared among keys.
type LeaseOptions struct {
	// Reuse is for how long after its grant a lease is given to further keys;
	// 60 seconds unless set. A key may live longer than its ttl by that much, or
	// by a twentieth of the ttl if that is less.
	Reuse time.Duration
	// MaxObjects bounds the keys of one lease; 1000 unless set.
	MaxObjects int
	// Observe, if set, is called with the number of keys that a lease had when it is given up.
	Observe func(objects int)
}

// leases grants leases and gives each to many keys, since a lease a key (of
// short-lived events, mostly) would cost etcd more than the key itself.
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

// get returns a lease under which a key lives for at least ttl; 0 for a ttl of 0.
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
		if l.opts.Observe != nil {
			l.opts.Observe(s.objects)
		}
		delete(l.current, ttl)
	}
	return l.grant(ctx, ttl)
}

// grant asks for a lease that outlives ttl by the time during which it is
// shared. The lock is held meanwhile: those who wait want the same lease.
func (l *leases) grant(ctx context.Context, ttl time.Duration) (int64, error) {
	reuse := min(l.opts.Reuse, ttl/20)
	granted := l.now()
	resp, err := l.kv.LeaseGrant(ctx, &pb.LeaseGrantRequest{TTL: int64(math.Ceil((ttl + reuse).Seconds()))})
	if err != nil {
		return 0, translate(ctx, err)
	}
	l.current[ttl] = &sharedLease{id: resp.ID, reuseUntil: granted.Add(reuse), objects: 1}
	l.forget()
	return resp.ID, nil
}

// drop has a lease not given to further keys.
func (l *leases) drop(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ttl, s := range l.current {
		if s.id == id {
			delete(l.current, ttl)
		}
	}
}

// under runs a transaction that puts a key under a lease for ttl. Somebody may have revoked the
// lease that is shared: it is run again with a new one then.
func (l *leases) under(ctx context.Context, ttl time.Duration, txn func(lease int64) error) error {
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

// forget drops leases of other ttls that are not shared any more, so that the
// map does not grow with the ttls that were ever used.
func (l *leases) forget() {
	now := l.now()
	for ttl, s := range l.current {
		if !now.Before(s.reuseUntil) && s.objects > 1 {
			delete(l.current, ttl)
		}
	}
}
