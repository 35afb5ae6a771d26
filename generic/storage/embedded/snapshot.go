package embedded

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"

	"triplane/generic/storage"
	"triplane/internal/durable"
)

// revisionBump is by how much a restored store is ahead of the snapshot: more than what was
// written after it, so that no client has seen a revision that comes again. All before is
// compacted, so that watches and informers begin anew.
const revisionBump = 1_000_000_000

// Snapshot writes what is stored to a file, in etcd's own format: the database, with its SHA-256
// behind it. The file gets its name when all of it is on the disk. Reads and writes go on
// meanwhile; Close waits.
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

// VerifySnapshot compares a snapshot with the sum that it ends with, and looks whether it can be opened.
func VerifySnapshot(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is read only
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const pages = 512 // sizes of databases are multiples of it
	length := info.Size() - sha256.Size
	if length <= 0 || length%pages != 0 {
		return fmt.Errorf("%s is no snapshot, or a part of one", path)
	}
	sum, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(sum, f, length); err != nil {
		return err
	}
	if _, err := io.ReadFull(f, want); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return fmt.Errorf("%s is damaged: its sum is another", path)
	}
	if err := walkDatabase(path, checkEntry); err != nil {
		return fmt.Errorf("%s was made of a damaged store: %w", path, err)
	}
	return nil
}

// SnapshotStatus is what a snapshot holds.
type SnapshotStatus struct {
	Hash uint32 // of all that is in the file, as etcdutl shows it
	// Keyspace is that of Contents: the same for each store that holds the same objects at that revision.
	Keyspace string
	Revision int64
	Keys     int // revisions of keys
	Bytes    int64
}

// InspectSnapshot verifies a snapshot and reads what it holds.
func InspectSnapshot(path string) (SnapshotStatus, error) {
	held, err := readSnapshot(path)
	if err != nil {
		return SnapshotStatus{}, err
	}
	status, err := snapshot.NewV3(newLogger()).Status(path)
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("%s: %w", path, err)
	}
	return SnapshotStatus{Hash: status.Hash, Keyspace: held.Hash, Revision: status.Revision, Keys: status.TotalKey, Bytes: status.TotalSize}, nil
}

// restoring is where a snapshot is restored before it gets its name.
func restoring(dir string) string { return dir + ".restoring" }

// Restoring is the file that a Restore writes to, for its progress.
func Restoring(dir string) string { return Database(restoring(dir)) }

// Restore makes the data directory of a member, which must hold none, from a snapshot of any etcd.
// Its revisions continue far behind those of the snapshot. The directory gets its name when all of it is on the
// disk; what a Restore has left that was killed, the next one removes.
func Restore(path, dir string) error {
	if err := VerifySnapshot(path); err != nil {
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
	err := guarded(func() error {
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

// vacant removes a directory in which there is nothing but a lock; another one is an error.
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
			return fmt.Errorf("there is a store in %s: move it away, or choose another directory", dir)
		}
	}
	return os.RemoveAll(dir)
}

// unrestored returns an error where a Restore to a directory was begun and did not end: a start would begin
// an empty store there.
func unrestored(dir string) error {
	if _, err := os.Stat(restoring(dir)); err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(dir, "member")); err == nil {
		return nil
	}
	return fmt.Errorf("a snapshot was being restored to it, which did not end: restore it again, or remove %s", restoring(dir))
}
