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

// VerifySnapshot compares a snapshot with the sum that it ends with.
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
	return nil
}

// SnapshotStatus is what a snapshot holds.
type SnapshotStatus struct {
	Hash     uint32 // of the keys and values, as etcdutl shows it
	Revision int64
	Keys     int // revisions of keys
	Bytes    int64
}

// InspectSnapshot verifies a snapshot and reads what it holds.
func InspectSnapshot(path string) (SnapshotStatus, error) {
	if err := VerifySnapshot(path); err != nil {
		return SnapshotStatus{}, err
	}
	status, err := snapshot.NewV3(newLogger()).Status(path)
	if err != nil {
		return SnapshotStatus{}, fmt.Errorf("%s: %w", path, err)
	}
	return SnapshotStatus{Hash: status.Hash, Revision: status.Revision, Keys: status.TotalKey, Bytes: status.TotalSize}, nil
}

// Restore makes the data directory of a member, which must not exist, from a snapshot of any etcd.
// Its revisions continue far behind those of the snapshot.
func Restore(path, dir string) error {
	if err := VerifySnapshot(path); err != nil {
		return err
	}
	self := selfURL()
	err := snapshot.NewV3(newLogger()).Restore(snapshot.RestoreConfig{
		SnapshotPath: path, OutputDataDir: dir, Name: memberName, PeerURLs: []string{self.String()},
		InitialCluster: memberName + "=" + self.String(), InitialClusterToken: memberName,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return err
	}
	return errors.Join(durable.SyncAll(dir), durable.Sync(filepath.Dir(dir)))
}
