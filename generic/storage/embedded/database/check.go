package database

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

// Path returns the path of the database file in a member's directory.
func Path(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// Check returns an error if the database file exists and cannot be opened. etcd itself would wait
// forever for a lock, and crash on a damaged file. index is the log index up to which entries are applied.
func Check(dir string) (index uint64, err error) {
	path := Path(dir)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil // etcd creates it from the log
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return 0, InUse(dir)
	}
	if err != nil {
		return 0, fmt.Errorf("the database %s cannot be opened: %w", path, err)
	}
	err = walk(path, func(bucket string, key, value []byte) error {
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

// Guard calls f and returns its panics as errors. This includes faults: a mapped file may be shorter than its
// pages.
func Guard(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return f()
}

// View calls f with a read transaction on a database file that no process has open.
func View(path string, f func(*bolt.Tx) error) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return err
	}
	return errors.Join(Guard(func() error { return db.View(f) }), db.Close())
}

// InUse returns the error for a directory that another process uses.
func InUse(dir string) error {
	return fmt.Errorf("data directory %s is in use by another process", dir)
}
