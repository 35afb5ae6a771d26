package workspaces

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
)

// due is the stored value that says when a workspace must be awake.
type due struct {
	At time.Time `json:"at"`
	// Awake is set while the workspace is awake in a replica. If the replica ends before it stores when work is due, then
	// others wake the workspace at the time At.
	Awake bool `json:"awake,omitempty"`
}

const (
	// awakeFor is how long replicas expect a workspace to be awake, refreshed every awakeEvery.
	awakeFor   = 10 * time.Minute
	awakeEvery = awakeFor / 2
	// readDueEvery is how often a replica reads when workspaces are due.
	readDueEvery = 5 * time.Minute
	// dueRetry is the delay after a failed wake.
	dueRetry = time.Minute
	// dueWakes is how many workspaces are woken at once because work is due: fewer than wakes, so that requests wait
	// less.
	dueWakes = 2
)

// duePrefix is that of the keys that have values of due.
func (m *Manager) duePrefix() string { return m.config.Prefix + "/" + directory + "/.due/" }

func (m *Manager) dueKey(path string) string { return m.duePrefix() + path[len(directory)+1:] }

// setDue stores when a workspace must be awake; nil is never. ctx has the condition that the workspace exists.
func (m *Manager) setDue(ctx context.Context, path string, d *due) error {
	key, value := m.dueKey(path), []byte(nil)
	if d != nil {
		var err error
		if value, err = json.Marshal(d); err != nil {
			return err
		}
	}
	for {
		kv, err := m.config.Backend.Get(ctx, key)
		missing := errors.Is(err, storage.ErrNotFound)
		switch {
		case err != nil && !missing, missing && d == nil:
			return ignoring(err, storage.ErrNotFound)
		case missing:
			_, err = m.config.Backend.Create(ctx, key, value, 0)
		case d == nil:
			_, err = m.config.Backend.Delete(ctx, key, kv.Revision)
		default:
			_, err = m.config.Backend.Update(ctx, key, value, kv.Revision, 0)
		}
		if conflict := new(storage.ConflictError); !errors.As(err, &conflict) && !errors.Is(err, storage.ErrExists) {
			return err
		}
	}
}

// setDue is Manager.setDue for an existing workspace.
func (x *existence) setDue(ctx context.Context, d *due) error {
	revision, err := x.current(ctx)
	if err != nil {
		return err
	}
	condition := storage.Condition{Key: x.manager.existenceKey(x.path), Revision: revision}
	return x.manager.setDue(storage.WithCondition(ctx, condition), x.path, d)
}

func ignoring(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// keepDue stores when the work of a workspace is due that has stopped.
func (m *Manager) keepDue(i *instance, at time.Time) {
	m.mu.Lock()
	known := i.existence.marked.Load() != 0 || i.wasDue
	m.mu.Unlock()
	var stored *due
	if !at.IsZero() {
		stored = &due{At: at}
	}
	if known || stored != nil {
		ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
		defer cancel()
		if err := i.existence.setDue(ctx, stored); err != nil && !i.entry.deleting {
			klog.ErrorS(err, "Failed to store when the work of a workspace is due", "workspace", i.entry.name)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	i.entry.due = at
}

// storeTimeout bounds the write of keepDue, with which the server may be waiting to stop.
const storeTimeout = 5 * time.Second

// readDue reads when workspaces are due that are asleep. After the start of the only replica those that were awake are
// due at once.
func (m *Manager) readDue(ctx context.Context, start bool) error {
	return m.eachBelow(ctx, m.duePrefix(), func(kv *storage.KeyValue) {
		var d due
		name, uid, _ := strings.Cut(strings.TrimPrefix(kv.Key, m.duePrefix()), ".")
		if json.Unmarshal(kv.Value, &d) != nil {
			return
		}
		if d.Awake && start && m.config.Alone {
			d.At = time.Now()
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		e := m.entries[name]
		switch {
		case e == nil || string(e.uid) != uid:
		case e.instance == nil:
			e.due = d.At
		case d.At.Before(time.Now()):
			e.instance.begin()
		}
	})
}

// followDue reads regularly when workspaces are due that were awake in other replicas.
func (m *Manager) followDue(ctx context.Context) {
	for !m.config.Alone {
		select {
		case <-ctx.Done():
			return
		case <-time.After(readDueEvery):
		}
		if err := m.readDue(ctx, false); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to read when the work of workspaces is due, will retry")
		}
	}
}

// wakeDue wakes the workspaces whose work is due. It returns when the next one is due; the zero time if none is.
func (m *Manager) wakeDue(now time.Time) (next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.entries {
		if e.due.IsZero() || e.instance != nil || e.suspended || e.deleting {
			continue
		}
		if e.due.After(now) {
			if next.IsZero() || e.due.Before(next) {
				next = e.due
			}
			continue
		}
		select {
		case m.dueSlots <- struct{}{}:
			e.due = time.Time{}
			m.running.Go(func() { m.wakeForWork(e) })
		default:
			return now.Add(sweepLeast)
		}
	}
	return next
}

// wakeForWork wakes a workspace so that its controllers run.
func (m *Manager) wakeForWork(e *entry) {
	defer func() { <-m.dueSlots }()
	i, err := m.acquire(m.ctx, e.name)
	if err == nil {
		m.mu.Lock()
		i.wasDue = true
		m.mu.Unlock()
		i.begin()
		m.release(i)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e.due = time.Now().Add(dueRetry)
}

// refreshAwake stores that workspaces are still awake in this replica.
func (m *Manager) refreshAwake(ctx context.Context, now time.Time) {
	m.mu.Lock()
	var awake []*instance
	for _, e := range m.entries {
		if e.instance == nil || !e.instance.isReady() {
			continue
		}
		marked := &e.instance.existence.marked
		if at := marked.Load(); at != 0 && now.Sub(time.Unix(at, 0)) > awakeEvery && marked.CompareAndSwap(at, now.Unix()) {
			awake = append(awake, e.instance)
		}
	}
	m.mu.Unlock()
	for _, i := range awake {
		err := i.existence.setDue(ctx, &due{At: now.Add(awakeFor), Awake: true})
		if err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Failed to store that a workspace is awake", "workspace", i.entry.name)
		}
	}
}
