package resident

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// mapped returns how many kilobytes of a mapping are in the page tables. mincore would also count those of the
// kernel's cache.
func mapped(t *testing.T, path string) (kilobytes string) {
	t.Helper()
	b, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for line := range bytes.Lines(b) {
		if m, ok := parse(string(line)); ok {
			found = m.path == path
		} else if fields := bytes.Fields(line); found && string(fields[0]) == "Rss:" {
			return string(fields[1])
		}
	}
	t.Fatalf("%s is not mapped", path)
	return ""
}

func TestPagesOfAFileAreReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a file")
	content := bytes.Repeat([]byte("content "), 32<<10)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, len(content), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	for range 2 {
		if !bytes.Equal(b, content) {
			t.Fatal("the content is another one")
		}
		if mapped(t, path) == "0" {
			t.Fatal("what was read is not mapped")
		}
		before := Files()
		if err := Unmap(path); err != nil {
			t.Fatal(err)
		}
		if after := Files(); before == 0 || after >= before {
			t.Errorf("%d bytes of files are resident after %d", after, before)
		}
		if n := mapped(t, path); n != "0" {
			t.Fatalf("%s KB are mapped", n)
		}
	}
}

// Data written to a private mapping exists only there.
func TestPagesOfTheProcessStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 64<<10, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(b) }()
	b[5000] = 'x'
	for _, protection := range []int{unix.PROT_READ | unix.PROT_WRITE, unix.PROT_READ} {
		if err := unix.Mprotect(b, protection); err != nil {
			t.Fatal(err)
		}
		if err := Unmap(path); err != nil {
			t.Fatal(err)
		}
		if b[5000] != 'x' {
			t.Fatal("a page was lost")
		}
	}
}
