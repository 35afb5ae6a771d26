package resident

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is an entry of /proc/self/smaps (proc_pid_smaps(5)).
type mapping struct {
	start, end uintptr
	writable   bool
	path       string
}

// Unmap drops the pages of a read-only mapped file from the process; they stay in the kernel's cache. The file's
// mappings must not change concurrently: pages of another mapping at the same address would be lost. It skips
// mappings with modified pages, for example of relocated programs.
func Unmap(path string) error {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading only
	var errs []error
	var m mapping
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if next, ok := parse(line); ok {
			m = next
		} else if own, ok := strings.CutPrefix(line, "Anonymous:"); ok && m.path == path && !m.writable &&
			strings.Fields(own)[0] == "0" {
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
				errs = append(errs, fmt.Errorf("madvise: %w", errno))
			}
		}
	}
	return errors.Join(append(errs, lines.Err())...)
}

// Files returns the resident bytes of all mapped files, 0 if they are unknown.
func Files() int64 {
	b, err := os.ReadFile("/proc/self/statm") // proc_pid_statm(5)
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(b))
	if len(fields) < 3 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[2], 10, 64) // 0 after an error
	return n * int64(os.Getpagesize())
}

// parse parses the first line of a mapping: "START-END PERMISSIONS OFFSET DEVICE INODE PATH".
func parse(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return m, false
	}
	if n, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); n != 2 || err != nil {
		return m, false
	}
	m.writable = strings.Contains(fields[1], "w")
	if len(fields) > 5 {
		m.path = strings.Join(fields[5:], " ")
	}
	return m, true
}
