package triplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/storage"
)

// Checkpoint is a copy of the storage.
type Checkpoint struct{ values map[string][]byte }

// Checkpoint returns a copy of the storage. It excludes resources in other clusters (--etcd-servers-overrides).
func (s *Server) Checkpoint(ctx context.Context) (*Checkpoint, error) {
	return s.checkpoints.take(ctx)
}

// Restore resets the storage to a checkpoint of this server, for tests that share a server. It bypasses admission,
// finalizers and controllers. Watches receive the changes. It returns when the server's caches are up to date.
// Objects that are written concurrently may remain.
func (s *Server) Restore(ctx context.Context, c *Checkpoint) error {
	return s.checkpoints.restore(ctx, c)
}

// checkpointer takes and restores checkpoints of a storage.
type checkpointer struct {
	store  *host.Store
	prefix string // of all keys
}

func (s *checkpointer) take(ctx context.Context) (*Checkpoint, error) {
	stored, err := s.stored(ctx)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{values: make(map[string][]byte, len(stored))}
	for _, kv := range stored {
		c.values[kv.Key] = kv.Value
	}
	return c, nil
}

// restorePasses bounds how often restore compares the storage with a checkpoint. Controllers may write during a pass,
// based on objects that the pass deletes.
const restorePasses = 5

// restore resets the storage until a comparison finds no difference.
func (s *checkpointer) restore(ctx context.Context, c *Checkpoint) error {
	for range restorePasses {
		changed, err := s.pass(ctx, c)
		if err != nil {
			return err
		}
		if !changed {
			return nil
		}
		revision, err := s.store.Backend().Revision(ctx)
		if err != nil {
			return err
		}
		if err := s.store.Multiplexers()[0].Await(ctx, revision); err != nil {
			return err
		}
	}
	return nil
}

// pass sets all keys that differ from a checkpoint, and reports whether there were any.
func (s *checkpointer) pass(ctx context.Context, c *Checkpoint) (changed bool, err error) {
	stored, err := s.stored(ctx)
	if err != nil {
		return false, err
	}
	missing := make(map[string]bool, len(c.values))
	for key := range c.values {
		missing[key] = true
	}
	// In reverse order custom resources are deleted before their definitions, so that watches see the deletions.
	for _, kv := range slices.Backward(stored) {
		delete(missing, kv.Key)
		wanted := c.values[kv.Key]
		if bytes.Equal(kv.Value, wanted) {
			continue
		}
		changed = true
		if err := s.set(ctx, kv.Key, &kv, wanted); err != nil {
			return false, err
		}
	}
	for key := range missing {
		if err := s.set(ctx, key, nil, c.values[key]); err != nil {
			return false, err
		}
	}
	return changed || len(missing) > 0, nil
}

// stored returns the storage in the order of keys.
func (s *checkpointer) stored(ctx context.Context) ([]storage.KeyValue, error) {
	all, err := s.store.Backend().Range(ctx, storage.RangeOptions{Prefix: s.prefix + "/"})
	return all.Items, err
}

// set changes a key from found to wanted; nil means that the key does not exist.
func (s *checkpointer) set(ctx context.Context, key string, found *storage.KeyValue, wanted []byte) (err error) {
	for {
		switch {
		case found == nil && wanted == nil, found != nil && wanted != nil && bytes.Equal(found.Value, wanted):
			return nil
		case found == nil:
			_, err = s.store.Backend().Create(ctx, key, wanted, 0)
		case wanted == nil:
			_, err = s.store.Backend().Delete(ctx, key, found.Revision)
		default:
			_, err = s.store.Backend().Update(ctx, key, wanted, found.Revision, 0)
		}
		var conflict *storage.ConflictError
		switch {
		case errors.As(err, &conflict):
			found = conflict.Current
		case errors.Is(err, storage.ErrExists):
			now, err := s.store.Backend().Get(ctx, key)
			if err != nil && !errors.Is(err, storage.ErrNotFound) {
				return err
			}
			if found = nil; err == nil {
				found = &now
			}
		default:
			return err
		}
	}
}

// CheckpointsPath is the path of checkpoints of the storage, with Testing.Checkpoints:
//
//	GET    /testing/checkpoints              lists them
//	POST   /testing/checkpoints[?id=ID]      creates one; without an id its id is a number
//	POST   /testing/checkpoints/ID/reset     resets the storage to one
//	DELETE /testing/checkpoints/ID           deletes one
//
// Responses are JSON. Only the group system:masters, or a role that names a path exactly, may use it.
const CheckpointsPath = "/testing/checkpoints"

// StartCheckpoint is the id of the checkpoint that "triplane test" creates before it reports the server as ready.
const StartCheckpoint = "start"

const (
	// maxCheckpoints bounds the number of checkpoints in memory.
	maxCheckpoints = 100
	// maxCheckpointID bounds the length of an id.
	maxCheckpointID = 63
)

// checkpoints serves named checkpoints.
type checkpoints struct {
	checkpointer

	resetting sync.Mutex // held during a reset

	mu    sync.Mutex
	saved map[string]*Checkpoint
	last  int // the last generated id
}

// savedCheckpoint is the JSON of a checkpoint.
type savedCheckpoint struct {
	ID      string `json:"id"`
	Objects int    `json:"objects"`
	Bytes   int    `json:"bytes"`
}

// resetResult is the JSON of a reset.
type resetResult struct {
	ID           string  `json:"id"`
	Milliseconds float64 `json:"ms"`
}

func newCheckpoints(c checkpointer) *checkpoints {
	return &checkpoints{checkpointer: c, saved: map[string]*Checkpoint{}}
}

// SaveCheckpoint creates a checkpoint that CheckpointsPath serves under an id. It replaces one with the same id.
func (s *Server) SaveCheckpoint(ctx context.Context, id string) error {
	_, err := s.checkpoints.save(ctx, id)
	return err
}

// checkpointError is an error with an HTTP status.
type checkpointError struct {
	code int
	text string
}

func (e *checkpointError) Error() string { return e.text }

func checkpointErrorf(code int, format string, args ...any) error {
	return &checkpointError{code, fmt.Sprintf(format, args...)}
}

// ServeHTTP implements http.Handler.
func (c *checkpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, err := c.serve(r)
	var known *checkpointError
	switch {
	case errors.As(err, &known):
		if known.code == http.StatusMethodNotAllowed {
			w.Header().Set("Allow", "GET, POST, DELETE")
		}
		http.Error(w, known.text, known.code)
	case err != nil:
		klog.ErrorS(err, "Failed to serve checkpoints", "path", r.URL.Path)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err := json.NewEncoder(w).Encode(result); err != nil {
			klog.V(2).InfoS("Failed to send checkpoints", "err", err)
		}
	}
}

// serve returns the response to a request.
func (c *checkpoints) serve(r *http.Request) (any, error) {
	rest := strings.Trim(strings.TrimPrefix(r.URL.Path, CheckpointsPath), "/")
	id, action, _ := strings.Cut(rest, "/")
	switch {
	case rest == "" && r.Method == http.MethodGet:
		return c.list(), nil
	case rest == "" && r.Method == http.MethodPost:
		return c.save(r.Context(), r.URL.Query().Get("id"))
	case action == "reset" && r.Method == http.MethodPost:
		return c.reset(r.Context(), id)
	case rest != "" && action == "" && r.Method == http.MethodDelete:
		return c.drop(id)
	case action != "" && action != "reset":
		return nil, checkpointErrorf(http.StatusNotFound, "checkpoints have no %q, only reset", action)
	}
	return nil, checkpointErrorf(http.StatusMethodNotAllowed, "%s does not support %s", r.URL.Path, r.Method)
}

// list returns the checkpoints, sorted by id.
func (c *checkpoints) list() []savedCheckpoint {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []savedCheckpoint{}
	for id, saved := range c.saved {
		all = append(all, describe(id, saved))
	}
	slices.SortFunc(all, func(a, b savedCheckpoint) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func describe(id string, c *Checkpoint) savedCheckpoint {
	d := savedCheckpoint{ID: id, Objects: len(c.values)}
	for _, v := range c.values {
		d.Bytes += len(v)
	}
	return d
}

// save creates a checkpoint; id may be "".
func (c *checkpoints) save(ctx context.Context, id string) (any, error) {
	if len(id) > maxCheckpointID || strings.ContainsAny(id, "/?#%") {
		return nil, checkpointErrorf(http.StatusBadRequest,
			"id %q is invalid: at most %d characters, without / ? # %%", id, maxCheckpointID)
	}
	taken, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id == "" {
		c.last++
		if next := strconv.Itoa(c.last); c.saved[next] == nil {
			id = next
		}
	}
	if c.saved[id] == nil && len(c.saved) >= maxCheckpoints {
		return nil, checkpointErrorf(http.StatusConflict, "there are %d checkpoints already; delete some", maxCheckpoints)
	}
	c.saved[id] = taken
	return describe(id, taken), nil
}

// find returns the checkpoint with an id.
func (c *checkpoints) find(id string) (*Checkpoint, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if saved := c.saved[id]; saved != nil {
		return saved, nil
	}
	return nil, checkpointErrorf(http.StatusNotFound, "there is no checkpoint %q", id)
}

// reset resets the storage to a checkpoint.
func (c *checkpoints) reset(ctx context.Context, id string) (any, error) {
	saved, err := c.find(id)
	if err != nil {
		return nil, err
	}
	c.resetting.Lock()
	defer c.resetting.Unlock()
	begun := time.Now()
	if err := c.restore(ctx, saved); err != nil {
		return nil, err
	}
	return resetResult{ID: id, Milliseconds: float64(time.Since(begun).Microseconds()) / 1000}, nil
}

// drop deletes a checkpoint.
func (c *checkpoints) drop(id string) (any, error) {
	saved, err := c.find(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.saved, id)
	return describe(id, saved), nil
}
