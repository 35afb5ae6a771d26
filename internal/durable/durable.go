package durable

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile replaces a file. Whoever reads it sees the old content or the new, whole.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	return Write(path, mode, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(content))
		return err
	})
}

// Write is WriteFile with a content that is written by a function. Its failure leaves the file as
// it was.
func Write(path string, mode os.FileMode, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // err says what went wrong
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

// MkdirAll makes a directory, and those above it that are missing.
func MkdirAll(dir string, mode os.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return os.MkdirAll(dir, mode) // which knows what is no directory
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

// Rename renames a file or directory whose content is synced, and syncs the directory that holds it.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return Sync(filepath.Dir(to))
}

// Sync puts a file, or the names in a directory, on the disk.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncAll is Sync of a directory and of everything below it.
func SyncAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return Sync(path)
	})
}
