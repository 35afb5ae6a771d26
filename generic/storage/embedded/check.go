package embedded

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long the database file may be locked by somebody who is just
// leaving.
const lockWait = 200 * time.Millisecond

// Database is the file of the database in a member's directory.
func Database(dir string) string { return filepath.Join(dir, "member", "snap", "db") }

// checkDatabase looks whether the database file, if there is one, can be opened:
// etcd itself would wait for ever for a lock, and crash on a damaged file.
func checkDatabase(dir string) error {
	path := Database(dir)
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil // etcd makes it anew, from its log
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return errInUse(dir)
	}
	if err != nil {
		return fmt.Errorf("the database %s cannot be opened: %w", path, err)
	}
	if err := errors.Join(checkPages(db), db.Close()); err != nil {
		return fmt.Errorf("the database %s is damaged (restore a snapshot, or the file from a copy): %w", path, err)
	}
	return nil
}

// checkPages reads all that is not a value, once: bbolt does so when it opens the file to write, and
// panics in goroutines of its own at what is wrong.
func checkPages(db *bolt.DB) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a file may end before its pages do
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bolt.Bucket) error {
			bucket.Stats() // which visits each page
			var last []byte
			return bucket.ForEach(func(key, _ []byte) error {
				if last != nil && bytes.Compare(last, key) >= 0 {
					return fmt.Errorf("bucket %s is out of order at %x", name, key)
				}
				last = key
				return nil
			})
		})
	})
}

func errInUse(dir string) error {
	return fmt.Errorf("data directory %s is in use by another process", dir)
}
