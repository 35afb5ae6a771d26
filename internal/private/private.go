package private

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const (
	othersWrite = 0o002
	groupWrites = 0o020
)

// Directory returns an error for a directory that another user owns, or made a symbolic link to, or in which
// everybody may replace files. It reports whether a group may. One that does not exist is fine.
func Directory(dir string) (group bool, err error) {
	for _, stat := range []func(string) (os.FileInfo, error){os.Lstat, os.Stat} {
		info, err := stat(dir)
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if err := owned(dir, info, fmt.Sprintf("choose another one, or chown %s to this user if its content can be trusted", dir)); err != nil {
			return false, err
		}
		if info.Mode()&os.ModeSymlink != 0 {
			continue
		}
		if mode := info.Mode().Perm(); mode&othersWrite != 0 {
			return false, fmt.Errorf("%s may be written by everybody (%v): who can replace its keys is the administrator; chmod o-w %s", dir, mode, dir)
		}
		group = info.Mode().Perm()&groupWrites != 0
	}
	return group, nil
}

// Key returns an error for a file with a private key that belongs to another user, or that others may read. A
// group may where it can write the directory, as in volumes of containers: it could replace the key as well.
func Key(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := owned(file, info, "remove it to have a new one made"); err != nil {
		return err
	}
	mode := info.Mode().Perm()
	if mode&0o007 == 0 && mode&0o070 != 0 {
		if group, err := Directory(filepath.Dir(file)); err != nil || group {
			return err
		}
	}
	if mode&0o077 != 0 {
		return fmt.Errorf("the private key %s can be used by other users (%v): chmod 600 %s, or remove it to have a new one made if one may have read it", file, mode, file)
	}
	return nil
}

// owned returns an error for what belongs to a user who is neither this process's nor root.
func owned(name string, info os.FileInfo, advice string) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid == 0 || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	return fmt.Errorf("%s belongs to the user with id %d, who could replace its content, and this process runs as %d: %s",
		name, stat.Uid, os.Geteuid(), advice)
}
