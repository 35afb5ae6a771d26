package platform

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
)

func TestALockedFileIsLockedOnce(t *testing.T) {
	open := func(path string) *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	path := filepath.Join(t.TempDir(), "lock")
	first, second := open(path), open(path)
	if err := TryLock(first); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(second); !errors.Is(err, ErrLocked) {
		t.Errorf("%v, want %v", err, ErrLocked)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := TryLock(second); err != nil {
		t.Errorf("after the first is closed: %v", err)
	}
}

func TestAMappedFileHasItsContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	want := bytes.Repeat([]byte("content "), 1<<12)
	if err := os.WriteFile(path, want, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got, unmap, err := Map(f, len(want))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the mapped content differs")
	}
	if err := unmap(); err != nil {
		t.Error(err)
	}
	if _, _, err := Map(f, 0); err == nil {
		t.Error("mapped nothing")
	}
}

func TestAnOpenFileIsRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := RemoveOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(f); err != nil || string(got) != "content" {
		t.Errorf("%q, %v", got, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file remains: %v", err)
	}
}

func TestFreeSpace(t *testing.T) {
	if free, err := FreeSpace(t.TempDir()); err != nil || free == 0 {
		t.Errorf("%d, %v", free, err)
	}
	if _, err := FreeSpace(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a directory that does not exist has free space")
	}
}

func TestSync(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Sync(path), Sync(dir)); err != nil {
		t.Error(err)
	}
	if err := Sync(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// The classes of errors are those of the sockets of this system.
func TestErrorsOfSockets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if _, err := net.Listen("tcp", address); !IsAddressInUse(err) || IsNoAddress(err) || IsAddressDenied(err) {
		t.Errorf("a second listener: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", address); !IsRefused(err) {
		t.Errorf("nobody listens: %v", err)
	}
	if _, err := net.Listen("tcp", "203.0.113.1:0"); !IsNoAddress(err) {
		t.Errorf("another machine's address: %v", err)
	}
	if IsNoSpace(err) || IsNoSpace(nil) {
		t.Error("no space for a listener")
	}
}
