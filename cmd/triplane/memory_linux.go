package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// releaseProgram drops the pages of the program that the process holds in
// memory, most of which only its start needed. They are read-only and backed by
// the program's file: what is used again comes back at the first touch, from the
// system's page cache.
func releaseProgram() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range bytes.Lines(maps) {
		if start, end, ok := programPages(string(line), program); ok {
			// Advice that is not taken leaves everything as it was.
			_ = unix.Madvise(unsafe.Slice((*byte)(unsafe.Pointer(start)), end-start), unix.MADV_DONTNEED)
		}
	}
}

// programPages reads a line of /proc/self/maps. ok tells the mappings of the
// program's file that nobody can have written to.
func programPages(line, program string) (start, end uintptr, ok bool) {
	f := strings.Fields(line)
	if len(f) != 6 || f[5] != program || (f[1] != "r-xp" && f[1] != "r--p") {
		return 0, 0, false
	}
	from, to, ok := strings.Cut(f[0], "-")
	first, err1 := strconv.ParseUint(from, 16, 64)
	last, err2 := strconv.ParseUint(to, 16, 64)
	if !ok || err1 != nil || err2 != nil || last <= first {
		return 0, 0, false
	}
	return uintptr(first), uintptr(last), true
}
