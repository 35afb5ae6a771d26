package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"triplane/internal/resident"
)

const (
	// gcPercent is how much garbage the heap may hold, in percent of what is
	// alive. Objects are kept as bytes, which the collector need not look into, so
	// that collecting a little more often than Go's 100 costs next to nothing.
	gcPercent = 75
	// memoryShare is the part of a container's memory that Go may fill before it
	// collects more eagerly; etcd's file is mapped into the rest.
	memoryShare = 0.85

	// settleEvery is how often it is looked whether there is memory to give back.
	settleEvery = 2 * time.Second
	// quietBytes is how much is allocated between two looks at most while the
	// server counts as quiet.
	quietBytes = 1 << 20
	// unsettledBytes is how much must have been allocated since memory was given
	// back last to make it worth a collection.
	unsettledBytes = 16 << 20
)

// TuneMemory sets when garbage is collected, unless GOGC and GOMEMLIMIT in the
// environment say so, and gives memory back to the system each time the server
// has become quiet, the first time after its start: what is free of the heap, and the pages of
// the program, of which it needs few from then on. It returns when ctx ends.
func TuneMemory(ctx context.Context) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if limit := containerMemory(); limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(int64(float64(limit) * memoryShare))
	}
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	program, _ := os.Executable() // without a name there is nothing to release
	var s settler
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if s.due(allocated()) {
				debug.FreeOSMemory()
				if err := resident.Unmap(program); err != nil {
					klog.FromContext(ctx).V(2).Info("Pages of the program stay mapped", "err", err)
				}
				s.settled = allocated()
			}
		}
	}
}

// settler finds the moments at which a server has become quiet, in bytes that
// have been allocated since the process began.
type settler struct{ seen, settled uint64 }

func (s *settler) due(allocated uint64) bool {
	quiet := allocated-s.seen < quietBytes
	s.seen = allocated
	return quiet && allocated-s.settled > unsettledBytes
}

// allocated is how many bytes the process has allocated so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// containerMemory is the limit in bytes of the process's control groups, 0 where there is none.
func containerMemory() int64 { return memoryLimit("/proc/self/cgroup", "/sys/fs/cgroup") }

// memoryLimit is the smallest limit of the groups that a file names (cgroups(7)), and of those above
// them. In a container the file may name groups that are not mounted there: the limit is that of
// the uppermost one then.
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

// unlimited is from where on a limit of version 1 is none.
const unlimited = 1 << 60

// readLimit is the limit in a file, 0 where there is none.
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
