package resident

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mapping is an entry of /proc/self/maps (proc_pid_maps(5)).
type mapping struct {
	start, end uintptr
	writable   bool
	shared     bool
	path       string
}

// Unmap drops the pages of a read-only mapped file from the process; they stay in the kernel's cache. The file's
// mappings must not change concurrently: pages of another mapping at the same address would be lost. It skips
// mappings with modified pages, for example of relocated programs.
func Unmap(path string) error {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return err
	}
	pages, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return err
	}
	defer func() { _ = pages.Close() }() // opened for reading only
	var errs []error
	for line := range strings.Lines(string(maps)) {
		m, ok := parse(line)
		if !ok || m.path != path || m.writable {
			continue
		}
		if own, err := m.modified(pages); own || err != nil {
			errs = append(errs, err)
			continue
		}
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
			errs = append(errs, fmt.Errorf("madvise: %w", errno))
		}
	}
	return errors.Join(errs...)
}

// Bits of an entry of /proc/self/pagemap (proc_pid_pagemap(5)).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// modified reports whether a mapping of a file has pages that exist only in the process. /proc/self/smaps says so, too,
// but the kernel visits all memory of the process to write it.
func (m mapping) modified(pages io.ReaderAt) (bool, error) {
	if m.shared {
		return false, nil
	}
	size := uintptr(os.Getpagesize())
	entries := make([]byte, (m.end-m.start)/size*8)
	if _, err := pages.ReadAt(entries, int64(m.start/size*8)); err != nil {
		return false, fmt.Errorf("pagemap: %w", err)
	}
	for ; len(entries) > 0; entries = entries[8:] {
		entry := binary.NativeEndian.Uint64(entries)
		if entry&(pagePresent|pageSwapped) != 0 && entry&pageOfFile == 0 {
			return true, nil
		}
	}
	return false, nil
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

// parse parses a mapping: "START-END PERMISSIONS OFFSET DEVICE INODE PATH".
func parse(line string) (m mapping, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 5 {
		return m, false
	}
	if n, err := fmt.Sscanf(fields[0], "%x-%x", &m.start, &m.end); n != 2 || err != nil {
		return m, false
	}
	m.writable, m.shared = strings.Contains(fields[1], "w"), strings.HasSuffix(fields[1], "s")
	if len(fields) > 5 {
		m.path = strings.Join(fields[5:], " ")
	}
	return m, true
}
