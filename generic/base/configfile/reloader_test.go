package configfile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A file is replaced by an invalid one, then by a valid one, by renaming like atomic writers do.
func TestReloader(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	replace := func(text string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	replace("first")
	loaded := make(chan string, 10)
	m := NewMetrics(prometheus.NewRegistry(), "authentication", "me")
	r := Reloader{Path: file, Metrics: m, Load: func(_ context.Context, raw []byte) error {
		loaded <- string(raw)
		if string(raw) == "broken" {
			return errors.New("broken")
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx, []byte("first"))
	}()
	for _, text := range []string{"broken", "second"} {
		replace(text)
		select {
		case got := <-loaded:
			if got != text {
				t.Errorf("%q is loaded, not %q", got, text)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("%q is not loaded", text)
		}
	}
	cancel()
	<-done
	for status, want := range map[string]float64{"failure": 1, "success": 1} {
		if got := testutil.ToFloat64(m.reloads.WithLabelValues(m.server, status)); got != want {
			t.Errorf("%v reloads with %s", got, status)
		}
	}
}

// A file beyond the size limit is an error: its beginning may have another meaning.
func TestReadOfLargeFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for size, ok := range map[int64]bool{maxSize: true, maxSize + 1: false} {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(file, size); err != nil {
			t.Fatal(err)
		}
		if raw, err := Read(file); (err == nil) != ok || ok && int64(len(raw)) != size {
			t.Errorf("%d bytes of %d, %v", len(raw), size, err)
		}
	}
}
