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

// cpuTime is the user plus system time that processes and their children have used. It is what the kernel
// counts in nanoseconds for each thread, if it does (schedstat): a list takes less than a clock
// tick. Threads that have ended are missing from that; those of Go programs hardly ever do. Children that have
// ended are counted in clock ticks.
func cpuTime(pids []int) (total time.Duration) {
	for _, pid := range pids {
		if exact := scheduled(pid); exact > 0 {
			total += exact
		} else {
			total += ticksOf(pid, userTicks, systemTicks)
		}
		total += ticksOf(pid, endedUserTicks, endedSystemTicks) + cpuTime(children(pid))
	}
	return total
}

// children are the processes that a process has started and that run.
func children(pid int) (pids []int) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range threads {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(field); err == nil {
				pids = append(pids, n)
			}
		}
	}
	return pids
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

// Fields of /proc/PID/stat after the name.
const (
	userTicks        = 11
	systemTicks      = 12
	endedUserTicks   = 13 // of children that have ended
	endedSystemTicks = 14
)

func ticksOf(pid int, fields ...int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var ticks int64
	// The name may hold spaces: fields count from the last parenthesis.
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	for _, i := range fields {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

// residentBytes is the memory that processes have in RAM. Of processes with children, which share memory, it is the
// proportional share of each.
func residentBytes(pids []int) (total int64) {
	var pages int64
	for _, pid := range pids {
		if below := children(pid); len(below) > 0 {
			for _, one := range append(below, pid) {
				total += proportional(one)
			}
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue
		}
		n, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
		pages += n
	}
	return total + pages*int64(os.Getpagesize())
}

// proportional is the memory of a process, with its share of what others have, too.
func proportional(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
