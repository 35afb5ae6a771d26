package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/klog/v2"

	"triplane.dev/internal/durable"
	"triplane.dev/internal/platform"
	"triplane.dev/internal/private"
)

// DataDir is a data directory that this process has locked.
type DataDir struct{ lock *os.File }

// ErrDataDirInUse means that another process has locked the directory.
var ErrDataDirInUse = errors.New("in use by another triplane")

// LockDataDir creates and locks the directory. It returns ErrDataDirInUse if another process has locked it.
func LockDataDir(dir string) (*DataDir, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	for _, held := range []string{dir, filepath.Join(dir, "pki"), filepath.Join(dir, "pki", "etcd"),
		filepath.Join(dir, "etcd")} {
		if err := checkOwner(held); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := platform.TryLock(f); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, platform.ErrLocked) {
			return nil, fmt.Errorf("data directory %s is %w; stop it, or choose another directory with --data-dir",
				dir, ErrDataDirInUse)
		}
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	return &DataDir{f}, nil
}

// checkOwner returns an error if the directory belongs to another user or is world-writable: other users could
// replace keys and the database. It only logs group-writable directories, which are common for volumes of
// containers. It creates a missing directory with safe permissions.
func checkOwner(dir string) error {
	group, err := private.Directory(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if group {
		klog.InfoS("Data directory is group-writable: members of the group can replace its keys", "directory", dir)
	}
	return nil
}

// Release unlocks the directory.
func (d *DataDir) Release() {
	_ = d.lock.Close() // nothing was written
}
