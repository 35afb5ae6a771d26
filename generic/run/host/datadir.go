package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"triplane/internal/durable"
	"triplane/internal/private"
)

// DataDir is the data directory, held by this process until release.
type DataDir struct{ lock *os.File }

// ErrDataDirInUse says that another process holds the directory.
var ErrDataDirInUse = errors.New("in use by another triplane")

// HoldDataDir creates the directory and takes it; ErrDataDirInUse where another process has it.
func HoldDataDir(dir string) (*DataDir, error) {
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	for _, held := range []string{dir, filepath.Join(dir, "pki"), filepath.Join(dir, "pki", "etcd"), filepath.Join(dir, "etcd")} {
		if err := onlyOurs(held); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory %s is %w; stop that one, or choose another with --data-dir", dir, ErrDataDirInUse)
		}
		return nil, fmt.Errorf("data directory %s cannot be locked: %w", dir, err)
	}
	return &DataDir{f}, nil
}

// onlyOurs refuses a directory of another user, or in which everybody may replace keys
// and the store, and warns of one in which a group may, as volumes of containers often
// are. One that is not there yet is made so that neither is so.
func onlyOurs(dir string) error {
	group, err := private.Directory(dir)
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if group {
		klog.InfoS("The data directory may be written by a group; who can replace its keys is the administrator", "directory", dir)
	}
	return nil
}

// Release lets other processes have the directory.
func (d *DataDir) Release() {
	_ = d.lock.Close() // nothing was written
}
