package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestMemoryLimit(t *testing.T) {
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int64
	}{
		"none":                {"0::/\n", nil, 0},
		"version 2":           {"0::/system.slice/triplane.service\n", map[string]string{"system.slice/triplane.service/memory.max": "max", "system.slice/memory.max": "2000"}, 2000},
		"version 2, its own":  {"0::/a/b\n", map[string]string{"a/memory.max": "2000", "a/b/memory.max": "1000"}, 1000},
		"version 2, mounted":  {"0::/../elsewhere\n", map[string]string{"memory.max": "3000"}, 3000},
		"version 1":           {"9:name=systemd:/\n4:cpu,memory:/docker/x\n", map[string]string{"memory/docker/x/memory.limit_in_bytes": "4000", "memory/memory.limit_in_bytes": "9223372036854771712"}, 4000},
		"version 1, mounted":  {"4:memory:/docker/x\n0::/\n", map[string]string{"memory/memory.limit_in_bytes": "5000"}, 5000},
		"version 1, no limit": {"4:memory:/\n", map[string]string{"memory/memory.limit_in_bytes": "9223372036854771712"}, 0},
	} {
		root := t.TempDir()
		groups := filepath.Join(root, "self")
		if err := os.WriteFile(groups, []byte(c.groups), 0o600); err != nil {
			t.Fatal(err)
		}
		for file, content := range c.files {
			path := filepath.Join(root, "fs", file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := memoryLimit(groups, filepath.Join(root, "fs")); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestSettlerWaitsForQuietAfterWork(t *testing.T) {
	var s idleDetector
	steps := []struct {
		allocated uint64
		due       bool
	}{
		{40 << 20, false},        // the start allocates
		{40<<20 + 1000, true},    // and is over
		{40<<20 + 2000, false},   // nothing to give back
		{50 << 20, false},        // work
		{50<<20 + 1000, false},   // not worth it
		{90 << 20, false},        // more work
		{90<<20 + 900_000, true}, // quiet
		{90<<20 + 1_800_000, false},
	}
	for i, step := range steps {
		due := s.due(step.allocated)
		if due != step.due {
			t.Fatalf("step %d at %d: due %v", i, step.allocated, due)
		}
		if due {
			s.released = step.allocated
		}
	}
}

func TestGarbageIsInProportion(t *testing.T) {
	for live, want := range map[uint64]int{0: 250, 16 << 20: 250, 30 << 20: 200, 64 << 20: 100, 80 << 20: 75,
		300 << 20: 75, 400 << 20: 60, 512 << 20: 50, 1 << 30: 25, 10 << 30: 25} {
		if got := gcPercentOf(live); got != want {
			t.Errorf("%d live bytes: %d, want %d", live, got, want)
		}
	}
}

func TestTargetFollowsEachCollection(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan struct{}, 16)
	afterCollections(ctx, func() { called <- struct{}{} })
	for range 3 {
		for len(called) == 0 { // the next sentinel may be created after the next collection
			runtime.GC()
		}
		<-called
	}
	cancel()
	for range 3 { // the sentinel of the last call, and the finalizer of that
		runtime.GC()
	}
	if len(called) > 0 {
		t.Error("called after the end")
	}
}
