package resident

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is one that /proc/self/smaps (proc_pid_smaps(5)) lists.
type mapping struct {
	start, end uintptr
	writable   bool
	path       string
}

// Unmap unmaps the pages of a file that is mapped to be read; they stay in the kernel's cache.
// The caller sees to it that its mappings stay while it runs: pages of another one at the same
// place would be lost. Mappings with pages of their own, as relocated programs have, are left
// alone.
func Unmap(path string) error { return advise(path, unix.MADV_DONTNEED) }

// PageOut has the kernel drop the pages of a file that is mapped to be read, from its cache, too,
// and read them again from the disk when they are touched. Nothing is lost where its mappings
// change meanwhile. It does nothing where the process may not write the file.
func PageOut(path string) error { return advise(path, unix.MADV_PAGEOUT) }

// advise gives advice (madvise(2)) on the mappings of a file that nobody writes through.
func advise(path string, advice uintptr) error {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	var errs []error
	var m mapping
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if next, ok := parse(line); ok {
			m = next
		} else if own, ok := strings.CutPrefix(line, "Anonymous:"); ok && m.path == path && !m.writable && strings.Fields(own)[0] == "0" {
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, advice); errno != 0 {
				errs = append(errs, fmt.Errorf("madvise: %w", errno))
			}
		}
	}
	return errors.Join(append(errs, lines.Err())...)
}

// parse reads the first line of a mapping: "START-END PERMISSIONS OFFSET DEVICE INODE PATH".
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
