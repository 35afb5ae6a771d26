package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"triplane.dev/internal/platform"
)

const (
	othersWrite = 0o002
	groupWrites = 0o020
)

// Directory returns an error for a directory that belongs to another user, is reached by another user's symbolic
// link, or is world-writable. group reports whether it is group-writable. A missing directory is no error.
func Directory(dir string) (group bool, err error) {
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(dir)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := owned(dir, info,
			fmt.Sprintf("choose another one, or chown %s to this user if its content can be trusted",
				dir)); err != nil {
			return false, err
		}
		if info.Mode()&os.ModeSymlink != 0 || !platform.HasOwners {
			continue
		}
		if mode := info.Mode().Perm(); mode&othersWrite != 0 {
			return false,
				fmt.Errorf("%s is world-writable (%v), so that any user could replace its keys: chmod o-w %s", dir,
					mode, dir)
		}
		group = info.Mode().Perm()&groupWrites != 0
	}
	return group, nil
}

// Key returns an error for a private key that belongs to another user or that others can read. The group may read
// it if it can write to the directory, as in volumes of containers: it could replace the key as well.
func Key(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := owned(file, info, "remove it to generate a new one"); err != nil || !platform.HasOwners {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o007 == 0 && mode&0o070 != 0 {
		if group, err := Directory(filepath.Dir(file)); err != nil || group {
			return err
		}
	}
	if mode&0o077 != 0 {
		return fmt.Errorf("the private key %s is readable for other users (%v): chmod 600 %s, or remove it to "+
			"generate a new one if it may have been read", file, mode, file)
	}
	return nil
}

// owned returns an error for files that belong neither to this process's user nor to root.
func owned(name string, info os.FileInfo, advice string) error {
	uid, ok := platform.Owner(info)
	if !ok || uid == 0 || uid == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("%s belongs to the user with id %d, who could replace its content, but this process runs as "+
		"%d: %s",
		name, uid, os.Geteuid(), advice)
}
