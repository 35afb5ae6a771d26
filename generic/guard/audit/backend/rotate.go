package backend

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"triplane/internal/worker"
)

const (
	// backupTime is how a rotated file's name says when it was rotated, in UTC.
	backupTime = "2006-01-02T15-04-05.000"
	gzipSuffix = ".gz"
	megabyte   = 1 << 20
)

// Rotation is when a log file is rotated, and how long rotated files are
// kept. Zero is no limit.
type Rotation struct {
	MaxMegabytes int
	MaxBackups   int
	MaxDays      int
	Compress     bool
}

// File is a log file that is rotated: when a write would make it too large, it
// is renamed to NAME-TIME.EXT, as the lumberjack library names backups, whose
// goroutine cannot be ended. Old backups are removed and compressed in a goroutine.
type File struct {
	path     string
	rotation Rotation
	now      func() time.Time

	mu     sync.Mutex
	file   *os.File
	size   int64
	closed bool

	tidying worker.Group
	tidyMu  sync.Mutex
}

// OpenFile opens or creates the file, with its directory. Nobody but the user
// may read it.
func OpenFile(path string, r Rotation) (*File, error) { return openFile(path, r, time.Now) }

func openFile(path string, r Rotation, now func() time.Time) (*File, error) {
	f := &File{path: path, rotation: r, now: now}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	if err := f.open(); err != nil {
		return nil, err
	}
	f.tidy()
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write implements io.Writer; p is not divided between files.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	if f.file == nil {
		// The last rotation went wrong half-way.
		if err := f.open(); err != nil {
			return 0, err
		}
	}
	if most := int64(f.rotation.MaxMegabytes) * megabyte; most > 0 && f.size > 0 && f.size+int64(len(p)) > most {
		if err := f.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := f.file.Write(p)
	f.size += int64(n)
	return n, err
}

func (f *File) rotate() error {
	err := f.file.Close()
	f.file = nil
	if err != nil {
		return err
	}
	if err := os.Rename(f.path, f.backupName()); err != nil {
		return err
	}
	if err := f.open(); err != nil {
		return err
	}
	f.tidy()
	return nil
}

// backupName is a name that no backup has yet.
func (f *File) backupName() string {
	prefix, ext := f.parts()
	for at := f.now().UTC(); ; at = at.Add(time.Millisecond) {
		name := prefix + at.Format(backupTime) + ext
		if _, err := os.Lstat(name); os.IsNotExist(err) {
			if _, err := os.Lstat(name + gzipSuffix); os.IsNotExist(err) {
				return name
			}
		}
	}
}

// parts are what a backup's path has before and behind its time.
func (f *File) parts() (prefix, ext string) {
	ext = filepath.Ext(f.path)
	return strings.TrimSuffix(f.path, ext) + "-", ext
}

// Close implements io.Closer. It waits until backups are in order.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tidying.Wait()
	f.closed = true
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// tidy removes and compresses backups in a goroutine.
func (f *File) tidy() {
	if r := f.rotation; r.MaxBackups <= 0 && r.MaxDays <= 0 && !r.Compress {
		return
	}
	f.tidying.Go(func() {
		f.tidyMu.Lock()
		defer f.tidyMu.Unlock()
		if err := f.tidyNow(); err != nil {
			klog.ErrorS(err, "Old audit logs could not be put in order", "path", f.path)
		}
	})
}

type backup struct {
	path string
	at   time.Time
}

func (f *File) tidyNow() error {
	list, err := f.backups()
	if err != nil {
		return err
	}
	oldest := f.now().Add(-time.Duration(f.rotation.MaxDays) * 24 * time.Hour)
	var errs []error
	for i, b := range list {
		switch {
		case f.rotation.MaxBackups > 0 && i >= f.rotation.MaxBackups, f.rotation.MaxDays > 0 && b.at.Before(oldest):
			errs = append(errs, os.Remove(b.path))
		case f.rotation.Compress && !strings.HasSuffix(b.path, gzipSuffix):
			errs = append(errs, compress(b.path))
		}
	}
	return errors.Join(errs...)
}

// backups are the rotated files, the youngest first.
func (f *File) backups() ([]backup, error) {
	entries, err := os.ReadDir(filepath.Dir(f.path))
	if err != nil {
		return nil, err
	}
	prefix, ext := f.parts()
	var list []backup
	for _, e := range entries {
		path := filepath.Join(filepath.Dir(f.path), e.Name())
		rest, is := strings.CutPrefix(path, filepath.Clean(prefix))
		rest = strings.TrimSuffix(rest, gzipSuffix)
		if !is || !strings.HasSuffix(rest, ext) {
			continue
		}
		if at, err := time.Parse(backupTime, strings.TrimSuffix(rest, ext)); err == nil {
			list = append(list, backup{path, at})
		}
	}
	slices.SortFunc(list, func(a, b backup) int { return b.at.Compare(a.at) })
	return list, nil
}

// compress replaces a file by its gzip form. Half of one is not left behind.
func compress(path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	out, err := os.OpenFile(path+gzipSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(out)
	_, err = io.Copy(z, in)
	if err = errors.Join(err, z.Close(), out.Close()); err != nil {
		return errors.Join(fmt.Errorf("compressing %s: %w", path, err), os.Remove(path+gzipSuffix))
	}
	return os.Remove(path)
}
