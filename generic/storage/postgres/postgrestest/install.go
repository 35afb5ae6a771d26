//go:build unix

package postgrestest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// binaries returns the directory of initdb and postgres: $PG_BINDIR, that of initdb in the PATH, or Debian's newest.
// Root on Debian or Ubuntu gets the package installed.
var binaries = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("PG_BINDIR"); dir != "" {
		return dir, nil
	}
	if dir := look(); dir != "" {
		return dir, nil
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return "", ErrMissing
	}
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", "postgresql"}} {
		cmd := exec.Command(apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w, and apt-get %s fails: %w\n%s", ErrMissing, args[0], err, out)
		}
	}
	if dir := look(); dir != "" {
		return dir, nil
	}
	return "", ErrMissing
})

// look returns the directory of an installation, or "".
func look() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path)
		}
	}
	newest, dir := 0, ""
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is valid
	for _, path := range found {
		version, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		if version > newest {
			newest, dir = version, filepath.Dir(path)
		}
	}
	return dir
}

// fields returns the numbers in a text.
func fields(text string) (numbers []int) {
	for field := range strings.FieldsSeq(text) {
		if n, err := strconv.Atoi(field); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
