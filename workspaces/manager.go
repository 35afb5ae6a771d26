package workspaces

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/server"
	"triplane.dev/internal/worker"
)

// Manager knows the workspaces and runs those in use. Its methods are safe for concurrent use.
type Manager struct {
	config Config
	store  *registry.Store[*Workspace]
	create func(Inputs) (*Chain, error)
	reading
	pace
	metrics *metrics
	// rootAuthorizer authorizes requests of the root.
	rootAuthorizer authorizer.Authorizer

	ctx     context.Context //nolint:containedctx // of Run
	known   chan struct{}   // closed when the existing workspaces are known
	running worker.Group

	mu      sync.Mutex
	entries map[string]*entry
	ended   bool
}

// pace bounds how many workspaces do something at once that takes a processor.
type pace struct {
	slots      chan struct{} // one for each workspace that is being woken
	dueSlots   chan struct{} // one for each that is being woken because work is due
	beginnings chan struct{} // one for each new one whose first objects are being written
	turns      *worker.Turns // of controllers to start: after wakes, for which requests wait
}

func newPace() pace {
	return pace{make(chan struct{}, wakes), make(chan struct{}, dueWakes), make(chan struct{}, wakes),
		worker.NewTurns(turnWithin, turnLasts)}
}

const (
	// turnWithin bounds how long wakes delay the next start of controllers.
	turnWithin = 100 * time.Millisecond
	// turnLasts bounds how long the next ones wait for controllers that cannot read all objects.
	turnLasts = time.Second
)

// reading is the reader of all workspaces, from its first use.
type reading struct {
	createReader func() (*Reader, error)
	established  chan struct{} // closed when all workspaces that have keys have one of existence, see Manager.existing
	readerOnce   sync.Once
	reader       *Reader
	readerErr    error
}

// entry is what the manager has of each workspace, asleep or awake.
type entry struct {
	name      string
	uid       types.UID
	created   metav1.Time
	admins    []subject
	suspended bool
	limits    limits
	deleting  bool
	// initializing is set while the initial objects are applied.
	initializing bool
	revision     int64     // of the object
	due          time.Time // when it must wake; zero if never
	instance     *instance // nil asleep
}

// path returns the path of the workspace's keys.
func (e *entry) path() string { return Path(e.name, e.uid) }

// subject is a user or a group of spec.admins.
type subject struct {
	group bool
	name  string
}

// Errors of acquire.
var (
	errNotFound  = errors.New("there is no such workspace")
	errSuspended = errors.New("the workspace is suspended")
	errStopping  = errors.New("the server is stopping")
)

// wakes is how many workspaces are woken at once. Each of them uses a processor.
const wakes = 4

// NewManager returns a manager. It serves no workspaces before Run.
func NewManager(c Config) *Manager {
	m := &Manager{config: c, pace: newPace(), entries: map[string]*entry{}, known: make(chan struct{}),
		reading: reading{established: make(chan struct{})}}
	m.metrics = newMetrics(m)
	return m
}

// SetCreate sets the functions that create the chain of a workspace, and the reader of all workspaces. It must be
// called before Run.
func (m *Manager) SetCreate(create func(Inputs) (*Chain, error), reader func() (*Reader, error)) {
	m.create, m.createReader = create, reader
}

// Run follows the Workspaces until ctx is done, and then stops those that are awake. It must be called once.
func (m *Manager) Run(ctx context.Context) {
	m.mu.Lock()
	m.ctx = ctx
	m.mu.Unlock()
	m.running.Keep(ctx, m.follow)
	m.running.Keep(ctx, m.sweep)
	m.running.Go(func() { m.retry(ctx, &entry{}, m.catchUp) })
	<-ctx.Done()
	m.mu.Lock()
	m.ended = true
	var awake []*instance
	for _, e := range m.entries {
		if e.instance != nil {
			awake = append(awake, e.instance)
			e.instance.stop()
		}
	}
	m.mu.Unlock()
	for _, i := range awake {
		<-i.done
	}
	m.running.Wait()
}

// Start is a post-start hook that runs the manager. It returns when the manager knows the existing workspaces.
func (m *Manager) Start(hook server.HookContext) error {
	hook.Go(m.Run)
	select {
	case <-m.known:
		return nil
	case <-hook.Done():
		return hook.Err()
	}
}

// acquire returns the awake workspace, which it wakes if it must, and keeps it awake until release.
func (m *Manager) acquire(ctx context.Context, name string) (*instance, error) {
	for {
		i, err := m.join(name)
		if err != nil {
			return nil, err
		}
		select {
		case <-i.ready:
			if i.err != nil {
				m.release(i)
				return nil, i.err
			}
			return i, nil
		case <-i.stopped.Done():
			m.release(i)
			select {
			case <-i.done:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case <-ctx.Done():
			m.release(i)
			return nil, ctx.Err()
		}
	}
}

// join counts a user of the workspace's instance, and creates that if there is none.
func (m *Manager) join(name string) (*instance, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[name]
	switch {
	case m.ended || m.create == nil || m.ctx == nil:
		return nil, errStopping
	case e == nil || e.deleting:
		return nil, errNotFound
	}
	if e.instance == nil {
		e.instance = m.newInstance(e)
		i := e.instance
		m.running.Go(func() { m.run(i) })
	}
	e.instance.users++
	return e.instance, nil
}

// release ends a use of acquire.
func (m *Manager) release(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.users--
	i.used = time.Now()
}

// leave is release after a decision: it does not keep the workspace awake for longer.
func (m *Manager) leave(i *instance) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i.users--
}

// awake returns the instance of a workspace that serves requests, or nil.
func (m *Manager) awake(name string) *instance {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entries[name]
	if e == nil || e.instance == nil || !e.instance.isReady() {
		return nil
	}
	return e.instance
}

// find returns a copy of the entry of a workspace. A workspace that another replica has just created may be unknown
// to the watch, so find reads storage then.
func (m *Manager) find(ctx context.Context, name string) (entry, bool) {
	m.mu.Lock()
	e := m.entries[name]
	m.mu.Unlock()
	if e == nil && m.read(ctx, name) {
		m.mu.Lock()
		e = m.entries[name]
		m.mu.Unlock()
	}
	if e == nil {
		return entry{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return *e, true
}

// isAdmin reports whether spec.admins names a user.
func (e *entry) isAdmin(u *user.Info) bool {
	for _, s := range e.admins {
		if !s.group && s.name == u.Name || s.group && u.InGroup(s.name) {
			return true
		}
	}
	return false
}

// counts returns how many workspaces are awake and how many are asleep.
func (m *Manager) counts() (awake, asleep int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		if e.instance != nil {
			awake++
		}
	}
	return awake, len(m.entries) - awake
}

const (
	// sweepLeast and sweepMost bound the interval at which idle workspaces are looked for.
	sweepLeast = 100 * time.Millisecond
	sweepMost  = 15 * time.Second
)

// sweep puts idle workspaces to sleep, and wakes those whose work is due.
func (m *Manager) sweep(ctx context.Context) {
	interval := min(max(m.config.IdleTimeout/4, sweepLeast), sweepMost)
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-timer.C:
			m.putToSleep(now)
			m.refreshAwake(ctx, now)
			wait := interval
			if next := m.wakeDue(now); !next.IsZero() {
				wait = min(wait, max(next.Sub(now), sweepLeast))
			}
			timer.Reset(wait)
		}
	}
}

// putToSleep stops the workspaces that nothing has used for the idle timeout. Those whose controllers have work within
// another one stay awake.
func (m *Manager) putToSleep(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		i := e.instance
		if i == nil || i.users > 0 || !i.isReady() || now.Sub(i.used) < m.config.IdleTimeout {
			continue
		}
		if due := i.chain.Due(); !due.IsZero() && due.Before(now.Add(m.config.IdleTimeout)) && !e.suspended {
			continue
		}
		klog.V(2).InfoS("Putting workspace to sleep", "workspace", e.name)
		i.stop()
	}
}
