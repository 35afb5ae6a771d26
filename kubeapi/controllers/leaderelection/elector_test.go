package leaderelection

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// store has one Lease.
type store struct {
	mu    sync.Mutex
	lease *coordinationv1.Lease
	last  int
}

// client is a Client of a store.
type client struct {
	*store
	// cut makes requests fail, hang makes them wait for their context, and late makes writes return an error although
	// they have succeeded.
	cut, hang, late atomic.Bool
}

var errCut = errors.New("connection refused")

func (c *client) reach(ctx context.Context) error {
	switch {
	case c.hang.Load():
		<-ctx.Done()
		return ctx.Err()
	case c.cut.Load():
		return errCut
	}
	return ctx.Err()
}

func (c *client) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lease == nil || c.lease.Name != name {
		return nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), name)
	}
	return c.lease.DeepCopy(), nil
}

func (c *client) Create(
	ctx context.Context, l *coordinationv1.Lease, _ metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	return c.write(ctx, l, func(stored *coordinationv1.Lease) error {
		if stored != nil {
			return apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), l.Name)
		}
		return nil
	})
}

func (c *client) Update(
	ctx context.Context, l *coordinationv1.Lease, _ metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	return c.write(ctx, l, func(stored *coordinationv1.Lease) error {
		if stored == nil || stored.ResourceVersion != l.ResourceVersion {
			return apierrors.NewConflict(coordinationv1.Resource("leases"), l.Name, errors.New("changed"))
		}
		return nil
	})
}

func (c *client) write(
	ctx context.Context, l *coordinationv1.Lease, check func(*coordinationv1.Lease) error,
) (*coordinationv1.Lease, error) {
	if err := c.reach(ctx); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := check(c.lease); err != nil {
		return nil, err
	}
	c.set(l)
	if c.late.Load() {
		return nil, errCut
	}
	return c.lease.DeepCopy(), nil
}

// set stores a Lease. The caller holds s.mu.
func (s *store) set(l *coordinationv1.Lease) {
	s.last++
	s.lease = l.DeepCopy()
	s.lease.ResourceVersion = strconv.Itoa(s.last)
}

// change changes the Lease as another client does.
func (s *store) change(f func(*coordinationv1.Lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.lease.DeepCopy()
	f(changed)
	s.set(changed)
}

// spec is the spec of the Lease in JSON, with times in seconds since begin.
func (s *store) spec(begin time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, err := json.Marshal(s.lease.Spec)
	if err != nil {
		panic(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(content, &fields); err != nil {
		panic(err)
	}
	for _, key := range []string{"acquireTime", "renewTime"} {
		if at, err := time.Parse(metav1.RFC3339Micro, fields[key].(string)); err == nil {
			fields[key] = at.Sub(begin).Seconds()
		}
	}
	content, err = json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(content)
}

// process is a process that takes part.
type process struct {
	*client
	stop    context.CancelFunc // of the process
	ended   chan struct{}
	working atomic.Bool
	// slow is how long the work needs to return.
	slow time.Duration
}

// start starts a process, and checks that it does not work when another one does.
func start(t *testing.T, s *store, identity string, active *atomic.Int64, slow time.Duration) *process {
	ctx, cancel := context.WithCancel(t.Context())
	p := &process{client: &client{store: s}, stop: cancel, ended: make(chan struct{}), slow: slow}
	config := Config{Client: p.client, Name: "l", Identity: identity, LeaseDuration: 8 * time.Second,
		RenewDeadline: 5 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true}
	go func() {
		defer close(p.ended)
		for ctx.Err() == nil {
			Run(ctx, config, func(ctx context.Context) {
				if n := active.Add(1); n != 1 {
					t.Errorf("%d processes work", n)
				}
				p.working.Store(true)
				<-ctx.Done()
				time.Sleep(p.slow)
				p.working.Store(false)
				active.Add(-1)
			})
		}
	}()
	return p
}

func (p *process) end() {
	p.stop()
	<-p.ended
}

// expect fails the test unless the Lease has the spec.
func expect(t *testing.T, s *store, begin time.Time, want string) {
	t.Helper()
	if got := s.spec(begin); got != want {
		t.Errorf("after %s the lease is\n%s, not\n%s", time.Since(begin), got, want)
	}
}

func TestLeaseFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin, active := &store{}, time.Now(), &atomic.Int64{}
		a := start(t, s, "a", active, 3*time.Second)
		time.Sleep(time.Second)
		expect(t, s, begin, `{"acquireTime":0,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":0}`)
		time.Sleep(4 * time.Second)
		expect(t, s, begin, `{"acquireTime":0,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":4}`)
		b := start(t, s, "b", active, 0)
		time.Sleep(10 * time.Second)
		a.stop()
		time.Sleep(2500 * time.Millisecond)
		if !a.working.Load() || b.working.Load() {
			t.Error("the lease was released before the work returned")
		}
		expect(t, s, begin, `{"acquireTime":0,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":16}`)
		<-a.ended
		// b may acquire it at once, as it waits for up to 4.4 seconds.
		time.Sleep(5 * time.Second)
		if !b.working.Load() {
			t.Error("a released lease is not acquired")
		}
		b.end()
		expect(t, s, begin, `{"acquireTime":23,"holderIdentity":"","leaseDurationSeconds":1,"leaseTransitions":1,"renewTime":23}`)
	})
}

// A process that cannot reach the API server stops its work before another one acquires its lease.
func TestPartition(t *testing.T) {
	for name, sever := range map[string]func(*client){
		"requests fail": func(c *client) { c.cut.Store(true) },
		"requests hang": func(c *client) { c.hang.Store(true) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, active := &store{}, &atomic.Int64{}
				a := start(t, s, "a", active, 900*time.Millisecond)
				time.Sleep(3 * time.Second)
				b := start(t, s, "b", active, 0)
				sever(a.client)
				time.Sleep(5 * time.Second)
				if !a.working.Load() {
					t.Error("the work was stopped early")
				}
				time.Sleep(20 * time.Second)
				if a.working.Load() || !b.working.Load() {
					t.Errorf("a works: %t, b works: %t", a.working.Load(), b.working.Load())
				}
				a.end()
				b.end()
			})
		})
	}
}

// A lease that is lost for a while is renewed as long as the work has not returned.
func TestSlowWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, active := &store{}, &atomic.Int64{}
		a := start(t, s, "a", active, time.Minute)
		time.Sleep(time.Second)
		b := start(t, s, "b", active, 0)
		a.cut.Store(true)
		time.Sleep(6500 * time.Millisecond)
		a.cut.Store(false)
		time.Sleep(time.Minute)
		a.end()
		b.end()
	})
}

// Work is stopped if another process holds its lease.
func TestTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin, active := &store{}, time.Now(), &atomic.Int64{}
		a := start(t, s, "a", active, 0)
		time.Sleep(time.Second)
		s.change(func(l *coordinationv1.Lease) { other := "other"; l.Spec.HolderIdentity = &other })
		time.Sleep(2 * time.Second)
		if a.working.Load() {
			t.Error("the work was not stopped")
		}
		expect(t, s, begin, `{"acquireTime":0,"holderIdentity":"other","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":0}`)
		time.Sleep(12 * time.Second) // the other one does not renew it
		if !a.working.Load() {
			t.Error("an expired lease is not acquired")
		}
		a.end()
	})
}

// Changes by other clients do not stop the work.
func TestChangesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin, active := &store{}, time.Now(), &atomic.Int64{}
		a := start(t, s, "a", active, 0)
		time.Sleep(time.Second)
		for _, c := range []struct {
			name   string
			change func(*coordinationv1.Lease)
			want   string
		}{
			{"annotated", func(l *coordinationv1.Lease) { l.Annotations = map[string]string{"a": "b"} },
				`{"acquireTime":0,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":4}`},
			{"released", func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil },
				`{"acquireTime":6,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":1,"renewTime":8}`},
		} {
			s.change(c.change)
			time.Sleep(4 * time.Second)
			expect(t, s, begin, c.want)
		}
		s.mu.Lock()
		if s.lease.Annotations["a"] != "b" {
			t.Errorf("the lease has %v", s.lease.Annotations)
		}
		s.lease = nil // deleted
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		expect(t, s, begin, `{"acquireTime":10,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":10}`)
		if !a.working.Load() {
			t.Error("the work was stopped")
		}
		s.change(func(l *coordinationv1.Lease) { l.Annotations = map[string]string{"a": "c"} })
		a.end()
		expect(t, s, begin, `{"acquireTime":11,"holderIdentity":"","leaseDurationSeconds":1,"leaseTransitions":0,"renewTime":11}`)
	})
}

// A write whose response is lost does not stop the work.
func TestLostResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, begin, active := &store{}, time.Now(), &atomic.Int64{}
		a := start(t, s, "a", active, 0)
		time.Sleep(time.Second)
		a.late.Store(true)
		time.Sleep(4 * time.Second)
		a.late.Store(false)
		time.Sleep(10 * time.Second)
		expect(t, s, begin, `{"acquireTime":0,"holderIdentity":"a","leaseDurationSeconds":8,"leaseTransitions":0,"renewTime":14}`)
		a.end()
	})
}

// A lease that another process acquires while this one waits is awaited from when it was seen, whatever its times are.
func TestClocksDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holder, seconds, active := "other", int32(8), &atomic.Int64{}
		past := metav1.NewMicroTime(time.Now().Add(-time.Hour))
		s := &store{lease: &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &past}}}
		a := start(t, s, "a", active, 0)
		time.Sleep(7 * time.Second)
		if a.working.Load() {
			t.Error("a lease of another clock was acquired")
		}
		time.Sleep(6 * time.Second)
		if !a.working.Load() {
			t.Error("an expired lease was not acquired")
		}
		a.end()
	})
}

func TestEndsWithoutLease(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Run(ctx, Config{Client: &client{store: &store{}}, Name: "l", Identity: "a", LeaseDuration: 8 * time.Second,
		RenewDeadline: 5 * time.Second, RetryPeriod: 2 * time.Second},
		func(context.Context) { t.Error("it works") })
}

// Work may return, or panic, without a done context.
func TestWorkReturns(t *testing.T) {
	for _, work := range []func(context.Context){func(context.Context) {}, func(context.Context) { panic("work") }} {
		synctest.Test(t, func(t *testing.T) {
			s, begin := &store{}, time.Now()
			Run(t.Context(), Config{Client: &client{store: s}, Name: "l", Identity: "a", LeaseDuration: 8 * time.Second,
				RenewDeadline: 5 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true}, work)
			expect(t, s, begin, `{"acquireTime":0,"holderIdentity":"","leaseDurationSeconds":1,"leaseTransitions":0,"renewTime":0}`)
		})
	}
}

func TestDurations(t *testing.T) {
	for _, c := range []struct{ lease, deadline, retry, patience, interval time.Duration }{
		{8 * time.Second, 5 * time.Second, 2 * time.Second, 7 * time.Second, 2 * time.Second},
		{15 * time.Second, 10 * time.Second, 2 * time.Second, 12 * time.Second, 2 * time.Second},
		// Others wait for whole seconds only.
		{1900 * time.Millisecond, 1800 * time.Millisecond, time.Second, 875 * time.Millisecond, 437500 * time.Microsecond},
	} {
		config := Config{LeaseDuration: c.lease, RenewDeadline: c.deadline, RetryPeriod: c.retry}
		if p, i := config.patience(), config.interval(); p != c.patience || i != c.interval {
			t.Errorf("%v: patience %s, interval %s", c, p, i)
		}
	}
}
