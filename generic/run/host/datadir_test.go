package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataDirOfEverybody(t *testing.T) {
	dir := t.TempDir()
	for _, held := range []string{dir, filepath.Join(dir, "pki"), filepath.Join(dir, "etcd")} {
		triesModes(t, dir, held)
	}
}

// triesModes opens a data directory while a part of it has various modes.
func triesModes(t *testing.T, dir, part string) {
	t.Helper()
	if err := os.MkdirAll(part, 0o700); err != nil {
		t.Fatal(err)
	}
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: false, 0o777: true, 0o702: true} {
		if err := os.Chmod(part, mode); err != nil {
			t.Fatal(err)
		}
		d, err := LockDataDir(dir)
		if err == nil {
			d.Release()
		}
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "is world-writable") {
			t.Errorf("%s, %v: %v", part, mode, err)
		}
	}
	if err := os.Chmod(part, 0o700); err != nil {
		t.Fatal(err)
	}
}
