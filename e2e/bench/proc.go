package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTime is the user plus system time that processes have used. It is what the kernel
// counts in nanoseconds for each thread, if it does (schedstat): a list takes less than a clock
// tick. Threads that have ended are missing from that; those of Go programs hardly ever do.
func cpuTime(pids []int) (total time.Duration) {
	for _, pid := range pids {
		if exact := scheduled(pid); exact > 0 {
			total += exact
		} else {
			total += ticksOf(pid)
		}
	}
	return total
}

// scheduled is the time that the threads of a process were on a processor.
func scheduled(pid int) (total time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, file := range threads {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(b), " ")
		n, _ := strconv.ParseInt(first, 10, 64)
		total += time.Duration(n)
	}
	return total
}

// clockTick is the unit of CPU times in /proc (USER_HZ, 100 on Linux).
const clockTick = 10 * time.Millisecond

func ticksOf(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var ticks int64
	// The name may hold spaces: fields count from the last parenthesis.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	for _, i := range []int{11, 12} {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

// residentBytes is the memory that processes have in RAM.
func residentBytes(pids []int) int64 {
	var pages int64
	for _, pid := range pids {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue
		}
		n, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
		pages += n
	}
	return pages * int64(os.Getpagesize())
}
