package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"triplane/generic/storage/embedded"
	"triplane/internal/durable"
)

// snapshots makes those of the embedded store of a running server.
type snapshots struct {
	server *embedded.Server
	// dir is where they are kept; made when the first one is.
	dir string
	// interval is how often one is made; 0 is never. keep is how many of these stay.
	interval time.Duration
	keep     int

	handing sync.Mutex // of one at a time, since each takes room on the disk
}

// Snapshots serves snapshots of the embedded etcd; nil where there is none.
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

// names are the snapshots that there are, the oldest first.
func (s *snapshots) names() []string {
	names, _ := fs.Glob(os.DirFS(s.dir), "snapshot-*.db") // the pattern is valid; in lexical order
	return names
}

// latest is when the last one was made.
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

// make makes one, and removes those that are too many.
func (s *snapshots) make() error {
	began := time.Now()
	path, err := s.write("snapshot-" + began.UTC().Format("20060102T150405.000Z") + ".db")
	if err != nil {
		return err
	}
	klog.InfoS("A snapshot was made", "file", path, "took", time.Since(began))
	names := s.names()
	for _, old := range names[:max(0, len(names)-s.keep)] {
		if err := os.Remove(filepath.Join(s.dir, old)); err != nil {
			return fmt.Errorf("an old snapshot: %w", err)
		}
	}
	return nil
}

// write writes what is stored to a file in the directory, and returns its path.
func (s *snapshots) write(name string) (path string, err error) {
	if err := durable.MkdirAll(s.dir, 0o700); err != nil {
		return "", err
	}
	s.removeUnfinished()
	path = filepath.Join(s.dir, name)
	return path, s.server.Snapshot(path)
}

// unfinishedFor is after how long nobody is writing a file any more that has no name yet.
const unfinishedFor = time.Hour

// removeUnfinished removes what processes have left that were killed while they wrote a snapshot.
func (s *snapshots) removeUnfinished() {
	files, _ := fs.Glob(os.DirFS(s.dir), ".*.db.*") // as durable.Write names them; the pattern is valid
	for _, name := range files {
		path := filepath.Join(s.dir, name)
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) < unfinishedFor {
			continue
		}
		if err := os.Remove(path); err != nil {
			klog.ErrorS(err, "A part of a snapshot is left over", "file", path)
		}
	}
}

// ServeHTTP answers with a snapshot. It is written to the disk first: the client may be slow,
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
	f, err := s.unnamed()
	if errors.Is(err, unix.ENOSPC) {
		http.Error(w, "there is no room for a snapshot", http.StatusInsufficientStorage)
		return
	}
	if err != nil {
		klog.ErrorS(err, "The snapshot failed")
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

// unnamed makes a snapshot that nothing is left of when it is closed. One at a time may be made.
func (s *snapshots) unnamed() (*os.File, error) {
	path, err := s.write("handed-out.db")
	if err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	return f, errors.Join(err, os.Remove(path))
}
