package host

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/storage/embedded"
	"triplane.dev/internal/durable"
	"triplane.dev/internal/platform"
)

// snapshots creates and serves snapshots of the embedded etcd.
type snapshots struct {
	server *embedded.Server
	// dir is the directory of snapshots; it is created with the first one.
	dir string
	// interval is the time between periodic snapshots; 0 disables them. keep is the number of those to keep.
	interval time.Duration
	keep     int

	serving sync.Mutex // held while one is served, because each needs disk space
}

// Snapshots returns the handler of snapshots of the embedded etcd; nil without an embedded etcd.
func (s *Store) Snapshots() http.Handler {
	if s.snapshots == nil {
		return nil
	}
	return s.snapshots
}

// run creates periodic snapshots until ctx is done, the first one an interval after the latest.
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
			klog.ErrorS(err, "Failed to create snapshot, will retry", "directory", s.dir)
			select {
			case <-ctx.Done():
				return
			case <-time.After(min(s.interval, time.Minute)):
			}
		}
	}
}

// names returns the snapshots, the oldest first.
func (s *snapshots) names() []string {
	names, _ := fs.Glob(os.DirFS(s.dir), "snapshot-*.db") // the pattern is valid; sorted lexically
	return names
}

// latest returns the time of the latest snapshot, zero without one.
func (s *snapshots) latest() time.Time {
	names := s.names()
	if len(names) == 0 {
		return time.Time{}
	}
	info, err := os.Stat(filepath.Join(s.dir, names[len(names)-1]))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// make creates a periodic snapshot, and deletes those that exceed the retention.
func (s *snapshots) make() error {
	began := time.Now()
	path, err := s.write("snapshot-" + began.UTC().Format("20060102T150405.000Z") + ".db")
	if err != nil {
		return err
	}
	klog.InfoS("Created snapshot", "file", path, "took", time.Since(began))
	names := s.names()
	for _, old := range names[:max(0, len(names)-s.keep)] {
		if err := os.Remove(filepath.Join(s.dir, old)); err != nil {
			return fmt.Errorf("an old snapshot: %w", err)
		}
	}
	return nil
}

// write writes a snapshot to a file in the directory, and returns its path.
func (s *snapshots) write(name string) (path string, err error) {
	if err := durable.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	s.removeUnfinished()
	path = filepath.Join(s.dir, name)
	return path, s.server.Snapshot(path)
}

// unfinishedFor is the age after which a temporary file is a leftover.
const unfinishedFor = time.Hour

// removeUnfinished deletes the temporary files of killed processes.
func (s *snapshots) removeUnfinished() {
	files, _ := fs.Glob(os.DirFS(s.dir), ".*.db.*") // as durable.Write names them; the pattern is valid
	for _, name := range files {
		path := filepath.Join(s.dir, name)
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < unfinishedFor {
			continue
		}
		if err := os.Remove(path); err != nil {
			klog.ErrorS(err, "Failed to delete the temporary file of a snapshot", "file", path)
		}
	}
}

// ServeHTTP responds with a snapshot. It writes the snapshot to disk first, because a slow client must not keep
// etcd from closing or from reusing pages.
func (s *snapshots) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "snapshots support only GET", http.StatusMethodNotAllowed)
		return
	}
	if !s.serving.TryLock() {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "another snapshot is in progress", http.StatusTooManyRequests)
		return
	}
	defer s.serving.Unlock()
	f, err := s.unlinkedSnapshot()
	if platform.IsNoSpace(err) {
		http.Error(w, "not enough disk space for a snapshot", http.StatusInsufficientStorage)
		return
	}
	if err != nil {
		klog.ErrorS(err, "Failed to create snapshot")
		http.Error(w, "the snapshot failed, see the server's log", http.StatusInternalServerError)
		return
	}
	defer func() { _ = f.Close() }() // opened for reading only
	if info, err := f.Stat(); err == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := f.WriteTo(w); err != nil {
		klog.V(2).InfoS("Failed to send snapshot", "err", err)
	}
}

// unlinkedSnapshot creates a snapshot in an unlinked file, which is deleted when it is closed. Calls must not overlap.
func (s *snapshots) unlinkedSnapshot() (*platform.Removed, error) {
	path, err := s.write("served.db")
	if err != nil {
		return nil, err
	}
	return platform.RemoveOpen(path)
}
