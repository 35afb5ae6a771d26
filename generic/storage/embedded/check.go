package embedded

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long opening waits for a process that is about to release the database file.
const lockWait = 200 * time.Millisecond

// Database returns the path of the database file in a member's directory.
func Database(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// checkDatabase returns an error if the database file exists and cannot be opened. etcd itself would wait
// forever for a lock, and crash on a damaged file. index is the log index up to which entries are applied.
func checkDatabase(dir string) (index uint64, err error) {
	path := Database(dir)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil // etcd creates it from the log
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return 0, errInUse(dir)
	}
	if err != nil {
		return 0, fmt.Errorf("the database %s cannot be opened: %w", path, err)
	}
	err = walkDatabase(path, func(bucket string, key, value []byte) error {
		err := checkEntry(bucket, key, value)
		if err == nil && bucket == "meta" && string(key) == "consistent_index" {
			index = binary.BigEndian.Uint64(value)
		}
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		return 0, fmt.Errorf("the database %s is damaged (restore a snapshot, or the file from a copy): %w", path, err)
	}
	return index, nil
}

// guarded calls f and returns its panics as errors. This includes faults: a mapped file may be shorter than its
// pages.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// viewDatabase calls f with a read transaction on a database file that no process has open.
func viewDatabase(path string, f func(*bolt.Tx) error) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return err
	}
	return errors.Join(guarded(func() error { return db.View(f) }), db.Close())
}

func errInUse(dir string) error {
	return fmt.Errorf("data directory %s is in use by another process", dir)
}
