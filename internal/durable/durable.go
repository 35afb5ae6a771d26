package durable

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"triplane.dev/internal/platform"
)

// WriteFile replaces a file atomically.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(content))
		return err
	})
}

// Write is like WriteFile with content that a function writes. If it fails, the file does not change.
func Write(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // err is returned instead
		}
	}()
	if err := errors.Join(tmp.Chmod(mode), write(tmp), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// MkdirAll creates a directory and its missing parents.
func MkdirAll(dir string, mode os.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return os.MkdirAll(dir, mode) // reports a file that is not a directory
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := MkdirAll(above, mode); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return Sync(above)
}

// Rename renames a file or directory with synced content, and syncs the parent directory.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// Sync syncs a file, or the names in a directory.
func Sync(path string) error {
	return platform.Sync(path)
}

// SyncAll syncs a directory and everything below it.
func SyncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return Sync(path)
	})
}
