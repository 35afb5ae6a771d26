package main

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

var (
	file   = flag.String("limits", "hack/allocations/limits.txt", "the file of limits")
	update = flag.Bool("update", false, "write what is measured into the file of limits")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "allocations:", err)
		os.Exit(1)
	}
}

// cost is what an operation of a benchmark allocates.
type cost struct {
	pkg, benchmark string
	allocs, bytes  int64
}

func (c cost) String() string {
	return fmt.Sprintf("%s %s %d %d", c.pkg, c.benchmark, c.allocs, c.bytes)
}

func run() error {
	limits, err := read(*file)
	if err != nil {
		return err
	}
	var measured []cost
	for _, pkg := range packages(limits) {
		some, err := measure(pkg, limits)
		if err != nil {
			return err
		}
		measured = append(measured, some...)
	}
	if *update {
		return write(*file, limits, measured)
	}
	return compare(limits, measured)
}

// read reads the limits: lines of four fields; what begins with # is a comment.
func read(name string) ([]cost, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []cost
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var c cost
		if _, err := fmt.Sscanf(line, "%s %s %d %d", &c.pkg, &c.benchmark, &c.allocs, &c.bytes); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", name, line, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func packages(limits []cost) []string {
	var all []string
	for _, c := range limits {
		if !slices.Contains(all, c.pkg) {
			all = append(all, c.pkg)
		}
	}
	return all
}

// measure runs the benchmarks of a package that have limits, each three times: the least
// counts, as what else the process does only adds.
func measure(pkg string, limits []cost) ([]cost, error) {
	var top []string
	for _, c := range limits {
		if name, _, _ := strings.Cut(c.benchmark, "/"); c.pkg == pkg && !slices.Contains(top, name) {
			top = append(top, name)
		}
	}
	cmd := exec.Command("go", "test", "./"+pkg, "-run", "^$", "-bench", "^("+strings.Join(top, "|")+")$", "-benchtime", "300x", "-benchmem", "-count", "3")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	var all []cost
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		c, ok := parse(pkg, s.Text())
		if !ok {
			continue
		}
		if i := slices.IndexFunc(all, func(o cost) bool { return o.benchmark == c.benchmark }); i >= 0 {
			all[i].allocs, all[i].bytes = min(all[i].allocs, c.allocs), min(all[i].bytes, c.bytes)
			continue
		}
		all = append(all, c)
	}
	return all, nil
}

// parse reads a line of the output of go test -bench.
func parse(pkg, line string) (c cost, ok bool) {
	fields := strings.Fields(line)
	if len(fields) == 0 || !strings.HasPrefix(fields[0], "Benchmark") {
		return c, false
	}
	c = cost{pkg: pkg, benchmark: strings.TrimSuffix(fields[0], "-2"), allocs: -1, bytes: -1}
	for i := 1; i < len(fields); i++ {
		n, _ := strconv.ParseInt(fields[i-1], 10, 64)
		switch fields[i] {
		case "allocs/op":
			c.allocs = n
		case "B/op":
			c.bytes = n
		}
	}
	return c, c.allocs >= 0 && c.bytes >= 0
}

// compare reports what is above its limit, and prints what is far below.
func compare(limits, measured []cost) error {
	var errs []error
	for _, limit := range limits {
		i := slices.IndexFunc(measured, func(c cost) bool { return c.pkg == limit.pkg && c.benchmark == limit.benchmark })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s has no benchmark %s", limit.pkg, limit.benchmark))
			continue
		}
		got := measured[i]
		switch {
		case got.above(limit):
			errs = append(errs, fmt.Errorf("%s %s: %d allocations of %d bytes, the limit is %d of %d",
				got.pkg, got.benchmark, got.allocs, got.bytes, limit.allocs, limit.bytes))
		case limit.above(got):
			fmt.Printf("%s %s: %d allocations of %d bytes, its limit can be lowered from %d of %d\n",
				got.pkg, got.benchmark, got.allocs, got.bytes, limit.allocs, limit.bytes)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("%w\nif it has to be so, run make allocations ARGS=-update, and say why", errors.Join(errs...))
	}
	fmt.Printf("%d benchmarks allocate what they may\n", len(limits))
	return nil
}

// above leaves room for what pools and other goroutines make of a number.
func (c cost) above(limit cost) bool {
	return c.allocs > limit.allocs+max(limit.allocs/10, 2) || c.bytes > limit.bytes+max(limit.bytes/4, 1024)
}

// write writes the limits anew; the order and the comments stay.
func write(name string, limits, measured []cost) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := string(b)
	for _, old := range limits {
		if i := slices.IndexFunc(measured, func(c cost) bool { return c.pkg == old.pkg && c.benchmark == old.benchmark }); i >= 0 {
			text = strings.Replace(text, old.String()+"\n", measured[i].String()+"\n", 1)
		}
	}
	return os.WriteFile(name, []byte(text), 0o644)
}
