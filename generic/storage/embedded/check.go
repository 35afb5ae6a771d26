package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lockWait is how long the database file may be locked by somebody who is just
// leaving.
const lockWait = 200 * time.Millisecond

// checkDatabase looks whether the database file, if there is one, can be opened:
// etcd itself would wait for ever for a lock, and crash on a damaged file.
func checkDatabase(dir string) error {
	path := filepath.Join(dir, "member", "snap", "db")
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
	return db.Close()
}

func errInUse(dir string) error {
	return fmt.Errorf("data directory %s is in use by another process", dir)
}
