package embedded

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded/database"
	"triplane.dev/internal/durable"
)

// revisionBump is the difference between the revisions of a restored store and its snapshot. It exceeds the
// number of writes after the snapshot, so that clients never see the same revision twice. Older revisions are
// compacted, so that watches and informers restart.
const revisionBump = 1_000_000_000

// Snapshot writes the store to a file in etcd's format: the database, followed by its SHA-256. The file is
// renamed to path after it is synced. Reads and writes continue during a snapshot. Close waits for it.
func (s *Server) Snapshot(path string) error {
	if !s.gate.enter() {
		return storage.ErrStopped
	}
	defer s.gate.leave()
	return durable.Write(path, 0o600, func(w io.Writer) error {
		snap := s.etcd.Backend().Snapshot()
		sum := sha256.New()
		if _, err := snap.WriteTo(io.MultiWriter(w, sum)); err != nil {
			return errors.Join(err, snap.Close())
		}
		if err := snap.Close(); err != nil {
			return err
		}
		_, err := w.Write(sum.Sum(nil))
		return err
	})
}

// SnapshotStatus describes a snapshot.
type SnapshotStatus struct {
	Hash uint32 // of the whole file, as in etcdutl
	// Keyspace is Contents.Hash, which is equal for stores with the same objects at the revision.
	Keyspace string
	Revision int64
	Keys     int // number of revisions of keys
	Bytes    int64
}

// InspectSnapshot verifies a snapshot and returns its status.
func InspectSnapshot(path string) (SnapshotStatus, error) {
	held, err := database.ReadSnapshot(path)
	if err != nil {
		return SnapshotStatus{}, err
	}
	status, err := snapshot.NewV3(newLogger()).Status(path)
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("%s: %w", path, err)
	}
	return SnapshotStatus{Hash: status.Hash, Keyspace: held.Hash, Revision: status.Revision, Keys: status.TotalKey,
		Bytes: status.TotalSize}, nil
}

// restoring returns the temporary directory of a restore.
func restoring(dir string) string { return dir + ".restoring" }

// Restoring returns the file that Restore is writing, to show its progress.
func Restoring(dir string) string { return database.Path(restoring(dir)) }

// Restore creates the data directory of a member from a snapshot of any etcd. The directory must not contain a
// store. Its revisions continue far after those of the snapshot. The directory is renamed to dir after it is
// synced. Restore removes what a killed Restore has left.
func Restore(path, dir string) error {
	if err := database.VerifySnapshot(path); err != nil {
		return err
	}
	if err := vacant(dir); err != nil {
		return err
	}
	unfinished := restoring(dir)
	if err := os.RemoveAll(unfinished); err != nil {
		return fmt.Errorf("what an earlier restore has left: %w", err)
	}
	self := selfURL()
	err := database.Guard(func() error {
		return snapshot.NewV3(newLogger()).Restore(snapshot.RestoreConfig{
			SnapshotPath: path, OutputDataDir: unfinished, Name: memberName, PeerURLs: []string{self.String()},
			InitialCluster: memberName + "=" + self.String(), InitialClusterToken: memberName,
			RevisionBump: revisionBump, MarkCompacted: true,
		})
	})
	if err == nil {
		err = durable.SyncAll(unfinished)
	}
	if err == nil {
		err = durable.Rename(unfinished, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	return nil
}

// vacant removes a directory that is empty except for a lock file. It returns an error for any other directory.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != lockFile {
			return fmt.Errorf("directory %s already contains a store: move it away, or choose another directory", dir)
		}
	}
	return os.RemoveAll(dir)
}

// checkRestored returns an error if a Restore to the directory did not complete. Otherwise a start would create
// an empty store.
func checkRestored(dir string) error {
	if _, err := os.Stat(restoring(dir)); err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "member")); err == nil {
		return nil
	}
	return fmt.Errorf("a snapshot was being restored to it, which did not end: restore it again, or remove %s",
		restoring(dir))
}

// syncSnapshot syncs the name of a snapshot of the log. Etcd 3.7 does not read it, but 3.6 starts from it: without the
// name, which a power failure removes, it would need files of the log that have been deleted.
func syncSnapshot(dir string) {
	if err := durable.Sync(filepath.Join(dir, "member", "snap")); err != nil {
		klog.ErrorS(err, "Failed to sync the directory of the embedded etcd's snapshots", "directory", dir)
	}
}
