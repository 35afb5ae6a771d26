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

	"triplane.dev/internal/worker"
)

const (
	// backupTime is the time in the name of a rotated file, in UTC.
	backupTime = "2006-01-02T15-04-05.000"
	gzipSuffix = ".gz"
	megabyte   = 1 << 20
)

// Rotation configures when a log file is rotated and how long rotated files are kept. Zero means no limit.
type Rotation struct {
	MaxMegabytes int
	MaxBackups   int
	MaxDays      int
	Compress     bool
}

// File is a log file with rotation. Before a write exceeds the size limit, the file is renamed to
// NAME-TIME.EXT. These are the names of the lumberjack library, which is not used because its goroutine cannot
// be stopped. A background goroutine removes and compresses old backups.
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

// OpenFile opens or creates the file and its directory. Only the server's user can read it.
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

// Write implements io.Writer. It never splits p between two files.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, os.ErrClosed
	}
	if f.file == nil {
		// The last rotation failed after it had closed the file.
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

// backupName returns the name for a new backup.
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

// parts returns the path of backups before and after their time.
func (f *File) parts() (prefix, ext string) {
	ext = filepath.Ext(f.path)
	return strings.TrimSuffix(f.path, ext) + "-", ext
}

// Close implements io.Closer. It waits until old backups are removed and compressed.
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

// tidy removes and compresses old backups in a goroutine.
func (f *File) tidy() {
	if r := f.rotation; r.MaxBackups <= 0 && r.MaxDays <= 0 && !r.Compress {
		return
	}
	f.tidying.Go(func() {
		f.tidyMu.Lock()
		defer f.tidyMu.Unlock()
		if err := f.tidyNow(); err != nil {
			klog.ErrorS(err, "Failed to remove or compress old audit logs", "path", f.path)
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

// backups returns the rotated files, the newest first.
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

// compress replaces a file by its gzip form. On failure it removes the incomplete result.
func compress(path string) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read-only
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
