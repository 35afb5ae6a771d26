package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/internal/resident"
)

const (
	// gcPercent is the garbage collector's target (GOGC) for large heaps. Objects are stored as bytes, which the
	// collector does not scan. Collecting a little more often than with Go's 100 is therefore cheap.
	gcPercent = 75
	// minGarbage is how much garbage may accumulate between two collections, however small the heap is. A heap of
	// 30 MB is otherwise collected after each thousand writes, which takes a tenth of their CPU.
	minGarbage = 64 << 20
	// mostPercent is the target for small heaps. At a start with more, the objects that remain are spread over more
	// pages: an idle server takes 2 MB more with 400, and the start the same CPU.
	mostPercent = 250
	// maxGarbage is how much garbage may accumulate in a large heap, or leastPercent of what is live if that is more. A
	// million objects of 0.6 KB, 1.2 GB, are collected in 0.2 s, after each 10,000 writes.
	maxGarbage   = 256 << 20
	leastPercent = 25
	// memoryShare is the fraction of a container's memory that is Go's soft limit; the rest is for the mapped file
	// of etcd.
	memoryShare = 0.85

	// idleCheckInterval is the interval at which TuneMemory checks whether the server is idle.
	idleCheckInterval = 2 * time.Second
	// idleBytes is the most that an idle server allocates between two checks.
	idleBytes = 1 << 20
	// minAllocated is how much must have been allocated since the last release to make another one worthwhile.
	minAllocated = 16 << 20
)

// TuneMemory sets the garbage collector's targets, unless GOGC or GOMEMLIMIT are set, and adapts GOGC to the size of
// the heap. It returns memory to the system each time the server becomes idle: free pages of the heap, and pages of
// the executable, most of which are used only at start. It returns when ctx is done.
func TuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		adaptGarbage(ctx)
	}
	if limit := containerMemory(); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(float64(limit) * memoryShare))
	}
	tick := time.NewTicker(idleCheckInterval)
	defer tick.Stop()
	program, _ := os.Executable() // without a path, no pages are released
	var s idleDetector
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.due(allocated()) {
				debug.FreeOSMemory()
				if err := resident.Unmap(program); err != nil {
					klog.FromContext(ctx).V(2).Info("Failed to release pages of the executable", "err", err)
				}
				s.released = allocated()
			}
		}
	}
}

// adaptGarbage sets the garbage collector's target for the heap, now and after each collection until ctx is done.
func adaptGarbage(ctx context.Context) {
	percent := 0
	adapt := func() {
		if wanted := gcPercentOf(read("/gc/heap/live:bytes")); wanted != percent {
			percent = wanted
			debug.SetGCPercent(percent)
		}
	}
	adapt()
	afterCollections(ctx, adapt)
}

// afterCollections calls f after each collection until ctx is done, one call at a time.
func afterCollections(ctx context.Context, f func()) {
	sentinel := new(*byte) // a pointer to a pointer, because tiny objects without pointers are not collected one by one
	runtime.SetFinalizer(sentinel, func(**byte) {
		if ctx.Err() == nil {
			f()
			afterCollections(ctx, f)
		}
	})
}

// idleDetector detects that a server has become idle, by the bytes allocated since the process started.
type idleDetector struct{ seen, released uint64 }

func (s *idleDetector) due(allocated uint64) bool {
	quiet := allocated-s.seen < idleBytes
	s.seen = allocated
	return quiet && allocated-s.released > minAllocated
}

// gcPercentOf returns the target for a heap of so many live bytes. It is rounded, because each change stops the world.
func gcPercentOf(live uint64) int {
	live = max(live, 1)
	if most := int(maxGarbage*100/live) / 5 * 5; most < gcPercent {
		return max(leastPercent, most)
	}
	return min(mostPercent, max(gcPercent, int(minGarbage*100/live)/25*25))
}

// allocated returns the bytes that the process has allocated so far.
func allocated() uint64 { return read("/gc/heap/allocs:bytes") }

// read returns a metric of the runtime.
func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// containerMemory returns the memory limit of the process's control groups in bytes, 0 if there is none.
func containerMemory() int64 { return memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup") }

// memoryLimit returns the smallest limit of the control groups in a file (cgroups(7)) and their ancestors. In a
// container the file may name groups that are not mounted; then the limit is that of the topmost group.
func memoryLimit(groups, root string) int64 {
	b, err := os.ReadFile(groups)
	if err != nil {
		return 0
	}
	limit := int64(0)
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		dir, name := root, "memory.max"
		if controllers := strings.Split(fields[1], ","); slices.Contains(controllers, "memory") {
			dir, name = filepath.Join(root, "memory"), "memory.limit_in_bytes" // version 1
		} else if fields[1] != "" {
			continue
		}
		for group := filepath.Clean("/" + fields[2]); ; group = filepath.Dir(group) {
			if n := readLimit(filepath.Join(dir, group, name)); n > 0 && (limit == 0 || n < limit) {
				limit = n
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// unlimited is the value from which a limit of version 1 means no limit.
const unlimited = 1 << 60

// readLimit returns the limit in a file, 0 if there is none.
func readLimit(path string) int64 {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n >= unlimited { // or "max"
		return 0
	}
	return n
}
