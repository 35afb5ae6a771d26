package workspaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/base/user"
	"triplane.dev/internal/worker"
)

// instance is a workspace that is awake: its chain, from the wake to the sleep.
type instance struct {
	entry   *entry
	created chan struct{} // closed when chain is set
	ready   chan struct{} // closed when the chain serves requests, or has failed
	done    chan struct{} // closed when it has stopped
	// stop makes the instance stop; stopped is done then.
	stop    context.CancelFunc
	stopped context.Context //nolint:containedctx // it lasts as long as the instance
	chain   *Chain
	err     error // why it failed; valid after ready is closed
	// existence is the condition of its writes.
	existence *existence
	wasDue    bool // its work was due before it was woken; Manager.mu protects it
	// work is done when there is work for more than reads: after begin was called.
	work  context.Context //nolint:containedctx // it lasts as long as the instance
	begin context.CancelFunc

	// users are the requests that keep it awake, used is when the last one ended. Manager.mu protects both.
	users int
	used  time.Time
}

func (m *Manager) newInstance(e *entry) *instance {
	i := &instance{entry: e, created: make(chan struct{}), ready: make(chan struct{}), done: make(chan struct{}),
		used: time.Now(), wasDue: !e.due.IsZero()}
	i.stopped, i.stop = context.WithCancel(context.Background())
	i.work, i.begin = context.WithCancel(context.Background())
	i.existence = &existence{manager: m, name: e.name, path: e.path(), written: i.begin}
	return i
}

// onStop calls cancel when the instance must stop, unless the returned function is called before.
func (i *instance) onStop(cancel context.CancelFunc) (end func() bool) {
	return context.AfterFunc(i.stopped, cancel)
}

// isReady reports whether the instance serves requests.
func (i *instance) isReady() bool {
	select {
	case <-i.stopped.Done():
		return false
	default:
	}
	select {
	case <-i.ready:
		return i.err == nil
	default:
		return false
	}
}

// run wakes a workspace and runs it until it must stop.
func (m *Manager) run(i *instance) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	failed := make(chan error, 1)
	err := worker.Try(func() error { return m.wake(ctx, i, failed) })
	asleep := false // as opposed to a failure
	var due time.Time
	if err == nil {
		close(i.ready)
		select {
		case <-i.stopped.Done():
			asleep, due = true, i.chain.Due()
		case err = <-failed:
			failed <- nil
			klog.ErrorS(err, "Workspace stopped after a failure", "workspace", i.entry.name)
		}
		i.stop()
	} else {
		klog.ErrorS(err, "Failed to wake workspace", "workspace", i.entry.name)
		i.err = fmt.Errorf("workspace %q cannot be served: %w", i.entry.name, err)
	}
	cancel()
	if i.chain != nil {
		if err := <-failed; err != nil {
			klog.ErrorS(err, "Workspace failed while it stopped", "workspace", i.entry.name)
		}
	}
	if asleep {
		m.keepDue(i, due)
	}
	m.config.Drop(i.entry.path())
	m.mu.Lock()
	if i.entry.instance == i {
		i.entry.instance = nil
	}
	m.mu.Unlock()
	if i.err != nil {
		close(i.ready)
	}
	close(i.done)
}

// wake creates the chain and returns when it is ready. failed receives once, when the chain has ended.
func (m *Manager) wake(ctx context.Context, i *instance, failed chan error) error {
	defer m.turns.Urgent()()
	select {
	case m.slots <- struct{}{}:
	case <-i.stopped.Done():
		return errStopping
	}
	defer func() { <-m.slots }()
	begun := time.Now()
	name := i.entry.name
	chain, err := m.create(Inputs{Name: name, Path: i.entry.path(), Mark: i.mark, Work: m.workOf(ctx, i),
		origin: origin{i.entry.uid, i.entry.created}, existence: i.existence, turns: m.turns, Admin: func(u *user.Info) bool {
			e, ok := m.find(ctx, name)
			return ok && e.uid == i.entry.uid && e.isAdmin(u)
		}})
	if err != nil {
		return err
	}
	i.chain = chain
	close(i.created)
	m.running.Go(func() { failed <- worker.Try(func() error { return chain.Run(ctx) }) })
	select {
	case <-chain.Ready:
		m.metrics.woken(time.Since(begun))
		klog.V(2).InfoS("Woke workspace", "workspace", name, "took", time.Since(begun))
		return nil
	case err := <-failed:
		failed <- nil
		return errors.Join(errors.New("its servers did not start"), err)
	case <-i.stopped.Done():
		return errStopping
	}
}

// workOf returns the context Inputs.Work of a workspace that is being woken.
func (m *Manager) workOf(ctx context.Context, i *instance) context.Context {
	if !i.wasDue && !i.existence.isDue(ctx) {
		return i.work
	}
	i.begin()
	return nil
}

// instanceKey is the context key of mark.
type instanceKey struct{}

// mark marks the requests of the chain's own clients.
func (i *instance) mark(ctx context.Context) context.Context {
	return context.WithValue(ctx, instanceKey{}, i)
}

// markedWith returns the instance whose client sent a request, or nil.
func markedWith(ctx context.Context) *instance {
	i, _ := ctx.Value(instanceKey{}).(*instance)
	return i
}

// awaitCreated returns the chain as soon as it exists.
func (i *instance) awaitCreated(ctx context.Context) (*Chain, error) {
	select {
	case <-i.created:
		return i.chain, nil
	case <-i.done:
		return nil, errStopping
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
