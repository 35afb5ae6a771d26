package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dataDir is the data directory, held by this process until release.
type dataDir struct{ lock *os.File }

// holdDataDir creates the directory and takes it.
func holdDataDir(dir string) (*dataDir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s is in use by another triplane; stop that one, or choose another with --data-dir", dir)
		}
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	return &dataDir{f}, nil
}

func (d *dataDir) release() {
	if d != nil {
		_ = d.lock.Close() // nothing was written
	}
}
