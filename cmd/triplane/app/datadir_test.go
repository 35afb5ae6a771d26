package app

import (
	"os"
	"strings"
	"testing"
)

func TestDataDirOfEverybody(t *testing.T) {
	dir := t.TempDir()
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: false, 0o777: true, 0o702: true} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		d, err := holdDataDir(dir)
		if err == nil {
			d.release()
		}
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "may be written by everybody") {
			t.Errorf("%v: %v", mode, err)
		}
	}
}
