package embedded

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/storage"
)

var damages = flag.Int("damages", 40, "how many times TestDamagedFiles damages a file")

// damagedDir is the variable with the data directory for a process that uses damaged files.
const damagedDir = "TRIPLANE_TEST_DAMAGED_DIR"

// useDamaged starts a server, reads, writes and compacts. It exits with 0, or with 1 and an error message.
func useDamaged(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := func() error {
		s, err := Start(ctx, Config{Dir: dir, SnapshotCount: 50})
		if err != nil {
			return err
		}
		// The result may be wrong: only the exit of the process is checked.
		_, _ = s.Backend().Range(ctx, storage.RangeOptions{Prefix: "/"})
		for i := range 60 {
			if _, err := s.Backend().Create(ctx, fmt.Sprintf("/after/%d", i), make([]byte, 3000), 0); err != nil && s.Err() != nil {
				return s.Err()
			}
		}
		if revision, err := s.Backend().Revision(ctx); err == nil {
			_ = s.Backend().Compact(ctx, revision)
		}
		_ = s.backend.space.defragment()
		if err := s.Close(); err != nil {
			return err
		}
		return s.Err()
	}()
	if err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	os.Exit(0)
}

// fillToDamage creates a directory with several levels of pages, deletions, leases and a truncated log.
func fillToDamage(t *testing.T, dir string) {
	t.Helper()
	s, err := Start(t.Context(), Config{Dir: dir, SnapshotCount: 50})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		revision, err := s.Backend().Create(t.Context(), fmt.Sprintf("/r/%04d", i), bytes.Repeat([]byte("x"), 10+i*7%2500), time.Duration(i%2)*time.Hour)
		if err == nil && i%5 == 0 {
			_, err = s.Backend().Delete(t.Context(), fmt.Sprintf("/r/%04d", i), revision)
		}
		if err == nil && i == 200 {
			err = s.Backend().Compact(t.Context(), revision)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	trim(t, dir)
}

// trim truncates preallocated space, so that copies are small and damage hits used bytes.
func trim(t *testing.T, dir string) {
	t.Helper()
	const more = 1 << 14
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if used := (len(bytes.TrimRight(b, "\x00")) + more) / 4096 * 4096; err == nil && used < len(b) {
			err = os.Truncate(path, int64(used))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// damage damages a file in one of the ways in which disks do, and returns a description.
func damage(random *rand.Rand, b []byte) ([]byte, string) {
	const page = 4096
	at := random.IntN(len(b))
	switch random.IntN(6) {
	case 0:
		b[at] ^= 1 << random.IntN(8)
		return b, fmt.Sprintf("bit of byte %d", at)
	case 1: // where headers and elements are
		at = at/page*page + random.IntN(64)
		at = min(at, len(b)-1)
		b[at] ^= 1 << random.IntN(8)
		return b, fmt.Sprintf("bit of byte %d", at)
	case 2:
		return b[:at], fmt.Sprintf("cut at %d", at)
	case 3:
		clear(b[at/page*page : min(len(b), (at/page+1)*page)])
		return b, fmt.Sprintf("page %d zeroed", at/page)
	case 4:
		for i := at; i < min(len(b), at+100); i++ {
			b[i] = byte(random.Uint32())
		}
		return b, fmt.Sprintf("noise at %d", at)
	}
	x, y := at/page*page, random.IntN(len(b))/page*page
	if max(x, y)+page <= len(b) {
		kept := slices.Clone(b[x : x+page])
		copy(b[x:], b[y:y+page])
		copy(b[y:], kept)
	}
	return b, fmt.Sprintf("pages %d and %d swapped", x/page, y/page)
}

// TestDamagedFiles damages a file of a data directory and uses it. This must succeed or fail with an error
// message, never with a stack trace.
func TestDamagedFiles(t *testing.T) {
	good := filepath.Join(t.TempDir(), "etcd")
	fillToDamage(t, good)
	databases, _ := filepath.Glob(filepath.Join(good, "member", "snap", "db"))
	logs, _ := filepath.Glob(filepath.Join(good, "member", "wal", "*.wal"))
	snaps, _ := filepath.Glob(filepath.Join(good, "member", "snap", "*.snap"))
	if len(databases) != 1 || len(logs) == 0 || len(snaps) == 0 {
		t.Fatalf("%v, %v, %v", databases, logs, snaps)
	}
	targets := append(append(slices.Repeat(databases, 8), logs...), snaps...)
	seed := rand.Uint64()
	random, refused := rand.New(rand.NewPCG(seed, 0)), 0
	for range *damages {
		dir := filepath.Join(t.TempDir(), "etcd")
		if err := os.CopyFS(dir, os.DirFS(good)); err != nil {
			t.Fatal(err)
		}
		if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Chmod(path, 0o700))
		}); err != nil {
			t.Fatal(err)
		}
		target, _ := filepath.Rel(good, targets[random.IntN(len(targets))])
		path := filepath.Join(dir, target)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, how := damage(random, b)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), damagedDir+"="+dir)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code > 1 || code < 0 || strings.Contains(string(out), "goroutine ") || strings.Contains(string(out), "deadline exceeded") {
			t.Errorf("seed %d: %s, %s: %v\n%s", seed, target, how, err, out)
		}
		if err != nil {
			refused++
			t.Logf("%s, %s: %s", target, how, out)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of %d were refused", refused, *damages)
}
