package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/storage/datadir"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage/embedded/database"
)

// Verification configures the verification of a store that no server uses. It reads all of the store.
type Verification struct {
	// Snapshots is a directory of snapshots of the store to compare it with: a revision of a key never changes.
	// "" skips the comparison.
	Snapshots string
	// Value, if set, returns an error if a stored value cannot be decoded.
	Value func(key string, value []byte) error
}

// Verify verifies the files of a member's directory that no server uses. It checks the pages of the database
// and their order, the revisions, the values, and the checksums of the log. It also compares the revisions with
// the snapshots. The error is a *database.DamagedError, or that of reading a file.
func Verify(dir string, v Verification) (*database.Contents, error) {
	if _, err := os.Stat(filepath.Join(dir, "member")); err != nil {
		return nil, fmt.Errorf("no store found: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, err
	}
	held, err := v.verify(dir)
	return held, errors.Join(err, lock.Close())
}

// logged runs verify at a start and logs the result.
func (v *Verification) logged(dir string) error {
	if info, err := os.Stat(database.Path(dir)); err != nil || info.Size() == 0 {
		return nil
	}
	began := time.Now()
	held, err := v.verify(dir)
	if err != nil {
		return fmt.Errorf("the store is damaged: %w", err)
	}
	for _, err := range held.Unusable { // does not affect the store itself
		klog.ErrorS(err, "Found a snapshot of the embedded store that cannot be restored: remove it")
	}
	klog.InfoS("Verified the embedded store", "revision", held.Revision, "keys", held.Keys, "hash", held.Hash, "snapshots",
		held.Compared, "took", time.Since(began))
	return nil
}

func (v *Verification) verify(dir string) (*database.Contents, error) {
	if _, err := database.Check(dir); err != nil {
		return nil, err
	}
	held, err := database.Read(database.Path(dir), v.Value)
	if err != nil {
		return held, err
	}
	found := &database.DamagedError{}
	if err := verifyLog(dir); err != nil {
		found.Add("the log: %v", err)
	}
	if v.Snapshots != "" {
		if err := held.CompareAll(v.Snapshots, found); err != nil {
			return held, err
		}
	}
	return held, found.Err()
}

// verifyLog verifies the checksums of the log. An incomplete end, as after a kill, is valid.
func verifyLog(dir string) error {
	return database.Guard(func() error {
		at, err := wal.ValidSnapshotEntries(newLogger(), datadir.ToWALDir(dir))
		if err != nil || len(at) == 0 {
			return err
		}
		_, err = wal.Verify(newLogger(), datadir.ToWALDir(dir), at[len(at)-1])
		return err
	})
}
