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
	// lookEvery is how often the file is looked at. Files that are mounted into
	// containers are replaced by renaming a directory above them, which watches of
	// a file do not report.
	lookEvery = time.Second
	// retryAfter is when content that could not be loaded is tried again, since
	// what it refers to may have changed.
	retryAfter = time.Minute
	// maxSize bounds a configuration file, in bytes.
	maxSize = 8 << 20
)

// Reloader follows a file.
type Reloader struct {
	// Path is the file, or a folder where Read says how to read it.
	Path string
	// Read returns the content at the path; nil reads a file.
	Read func(path string) ([]byte, error)
	// Load puts a content into force. An error leaves the last one in force.
	Load func(ctx context.Context, raw []byte) error
	// Metrics may be nil.
	Metrics *Metrics
}

// Read returns the content of a configuration file.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(raw) > maxSize {
		err = fmt.Errorf("%s has more than %d bytes", path, maxSize)
	}
	return raw, err
}

// Run loads the file whenever its content differs from what is in force, until ctx
// ends. current is the content in force now.
func (r *Reloader) Run(ctx context.Context, current []byte) {
	r.Metrics.inForce(current)
	read := r.Read
	if read == nil {
		read = Read
	}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	var refused []byte
	var again time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		raw, err := read(r.Path)
		if err == nil && bytes.Equal(raw, current) {
			refused = nil
			continue
		}
		if raw == nil {
			raw = []byte{}
		}
		if refused != nil && bytes.Equal(raw, refused) && time.Now().Before(again) {
			continue
		}
		if err == nil {
			err = r.Load(ctx, raw)
		}
		if err != nil && ctx.Err() != nil {
			return // it may have failed for that
		}
		r.Metrics.Reloaded(err)
		if err != nil {
			klog.ErrorS(err, "A changed configuration file is not used; what was read before stays in force", "file", r.Path)
			refused, again = raw, time.Now().Add(retryAfter)
			continue
		}
		klog.InfoS("A changed configuration file is in force", "file", r.Path)
		current, refused = raw, nil
		r.Metrics.inForce(current)
	}
}
