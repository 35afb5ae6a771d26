package backend

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// names returns the names of the files in a directory in order.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

func write(t *testing.T, f *File, char string) {
	t.Helper()
	if _, err := f.Write(bytes.Repeat([]byte(char), megabyte*2/3)); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string, r Rotation) *File {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f, err := openFile(path, r, func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	f := open(t, filepath.Join(dir, "audit.log"), Rotation{MaxMegabytes: 1})
	for _, c := range []string{"a", "b", "c"} {
		write(t, f, c)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"audit-2026-01-02T03-04-05.000.log", "audit-2026-01-02T03-04-05.001.log", "audit.log"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "audit.log")); err != nil || len(b) != megabyte*2/3 || b[0] != 'c' {
		t.Errorf("%v %d", err, len(b))
	}
	if info, err := os.Stat(filepath.Join(dir, "audit.log")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if _, err := f.Write([]byte("late")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestOneFileGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	for range 3 {
		f := open(t, path, Rotation{})
		write(t, f, "x")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 3*(megabyte*2/3) {
		t.Errorf("%v", err)
	}
}

func TestOldFilesGo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"audit-2025-12-01T00-00-00.000.log.gz", "audit-2026-01-01T00-00-00.000.log", "audit-other.log", "audit-2025-12-01T00-00-00.000.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := open(t, filepath.Join(dir, "audit.log"), Rotation{MaxMegabytes: 1, MaxDays: 7, MaxBackups: 2, Compress: true})
	for _, c := range []string{"a", "b", "c"} {
		write(t, f, c)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"audit-2025-12-01T00-00-00.000.txt", "audit-2026-01-02T03-04-05.000.log.gz", "audit-2026-01-02T03-04-05.001.log.gz", "audit-other.log", "audit.log"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	z, err := os.Open(filepath.Join(dir, want[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	r, err := gzip.NewReader(z)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || string(b) != strings.Repeat("a", megabyte*2/3) {
		t.Errorf("%v %d", err, len(b))
	}
}

func TestFileThatCannotBeOpened(t *testing.T) {
	if _, err := OpenFile(t.TempDir(), Rotation{}); err == nil {
		t.Error("a directory is no file")
	}
}
