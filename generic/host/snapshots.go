package host

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"triplane/generic/storage/embedded"
	"triplane/internal/durable"
)

// snapshots are those that a running server makes of its embedded store.
type snapshots struct {
	server *embedded.Server
	// dir is where they are kept; made when the first one is.
	dir string
	// interval is how often one is made; 0 is never. keep is how many of these stay.
	interval time.Duration
	keep     int

	handing sync.Mutex // of one at a time, since each takes room on the disk
}

// Snapshots hands out snapshots of the embedded etcd; nil where there is none.
func (s *Store) Snapshots() http.Handler {
	if s.snapshots == nil {
		return nil
	}
	return s.snapshots
}

// run makes snapshots until ctx ends, the first one an interval after the last that is there.
func (s *snapshots) run(ctx context.Context) {
	if s.interval == 0 {
		return
	}
	for {
		timer := time.NewTimer(time.Until(s.latest().Add(s.interval)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := s.make(); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "The snapshot failed, it will be tried again", "directory", s.dir)
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(s.interval, time.Minute)):
			}
		}
	}
}

// names are the snapshots there are, the oldest first.
func (s *snapshots) names() []string {
	names, _ := filepath.Glob(filepath.Join(s.dir, "snapshot-*.db")) // the pattern is a good one
	slices.Sort(names)
	return names
}

// latest is when the last one was made.
func (s *snapshots) latest() time.Time {
	names := s.names()
	if len(names) == 0 {
		return time.Time{}
	}
	info, err := os.Stat(names[len(names)-1])
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// make makes one, and removes those that are too many.
func (s *snapshots) make() error {
	if err := durable.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	name := filepath.Join(s.dir, "snapshot-"+time.Now().UTC().Format("20060102T150405.000Z")+".db")
	began := time.Now()
	if err := s.server.Snapshot(name); err != nil {
		return err
	}
	klog.InfoS("A snapshot was made", "file", name, "took", time.Since(began))
	names := s.names()
	for _, old := range names[:max(0, len(names)-s.keep)] {
		if err := os.Remove(old); err != nil {
			return fmt.Errorf("an old snapshot: %w", err)
		}
	}
	return nil
}

// ServeHTTP answers with a snapshot. It is made on the disk first: whoever takes it may be slow,
// and must not keep the store from closing, or from using its pages again.
func (s *snapshots) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "a snapshot can only be read", http.StatusMethodNotAllowed)
		return
	}
	if !s.handing.TryLock() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "another snapshot is being taken", http.StatusTooManyRequests)
		return
	}
	defer s.handing.Unlock()
	dir, err := os.MkdirTemp(filepath.Dir(s.dir), ".snapshot-")
	if err != nil {
		http.Error(w, "there is no room for a snapshot", http.StatusInsufficientStorage)
		return
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			klog.ErrorS(err, "A snapshot that was handed out is left over", "directory", dir)
		}
	}()
	name := filepath.Join(dir, "snapshot.db")
	if err := s.server.Snapshot(name); err != nil {
		klog.ErrorS(err, "The snapshot failed")
		http.Error(w, "the snapshot failed, see the server's log", http.StatusInternalServerError)
		return
	}
	f, err := os.Open(name)
	if err != nil {
		http.Error(w, "the snapshot failed, see the server's log", http.StatusInternalServerError)
		return
	}
	defer func() { _ = f.Close() }() // it is read only
	if info, err := f.Stat(); err == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := f.WriteTo(w); err != nil {
		klog.V(2).InfoS("A snapshot was not taken whole", "err", err)
	}
}
