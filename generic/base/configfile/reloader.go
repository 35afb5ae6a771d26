package configfile

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/klog/v2"
)

const (
	// pollInterval is how often the file is read. Files that are mounted into containers are replaced by
	// renaming a parent directory, which watches of a file do not report.
	pollInterval = time.Second
	// retryAfter is when a failed reload of the same content is retried, because files that it refers to may
	// have changed.
	retryAfter = time.Minute
	// maxSize limits the size of a configuration file in bytes.
	maxSize = 8 << 20
)

// Reloader reloads a file when it changes.
type Reloader struct {
	// Path is the file, or a directory if Read supports it.
	Path string
	// Read returns the content at the path; nil reads a file.
	Read func(path string) ([]byte, error)
	// Load applies a content. If it returns an error, it must not apply anything.
	Load func(ctx context.Context, raw []byte) error
	// Metrics may be nil.
	Metrics *Metrics
}

// Read returns the content of a configuration file. It fails if the file is larger than 8 MiB.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // read-only
	raw, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(raw) > maxSize {
		err = fmt.Errorf("%s has more than %d bytes", path, maxSize)
	}
	return raw, err
}

// Run loads the file whenever its content differs from the current one, until ctx ends. current is the content
// that the caller has loaded already.
func (r *Reloader) Run(ctx context.Context, current []byte) {
	r.Metrics.setCurrent(current)
	read := r.Read
	if read == nil {
		read = Read
	}
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var rejected []byte
	var retryAt time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		raw, err := read(r.Path)
		if err == nil && bytes.Equal(raw, current) {
			rejected = nil
			continue
		}
		if raw == nil {
			raw = []byte{}
		}
		if rejected != nil && bytes.Equal(raw, rejected) && time.Now().Before(retryAt) {
			continue
		}
		if err == nil {
			err = r.Load(ctx, raw)
		}
		if err != nil && ctx.Err() != nil {
			return // the error may be a result of ctx
		}
		r.Metrics.Reloaded(err)
		if err != nil {
			klog.ErrorS(err, "Failed to reload configuration file, keeping the previous one", "file", r.Path)
			rejected, retryAt = raw, time.Now().Add(retryAfter)
			continue
		}
		klog.InfoS("Reloaded configuration file", "file", r.Path)
		current, rejected = raw, nil
		r.Metrics.setCurrent(current)
	}
}
