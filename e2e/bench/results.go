package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// results collects what was measured, of all rounds.
type results struct {
	rows    []rowKey // in the order of their first measurement
	servers []string
	cells   map[rowKey]map[string][]measured
	starts  map[string][]startCost
	ends    map[string][]int64
}

type rowKey struct{ resource, phase string }

type startCost struct {
	ready time.Duration
	idle  int64
}

func newResults() *results {
	return &results{cells: map[rowKey]map[string][]measured{}, starts: map[string][]startCost{}, ends: map[string][]int64{}}
}

func (r *results) server(name string) {
	if !slices.Contains(r.servers, name) {
		r.servers = append(r.servers, name)
	}
}

func (r *results) add(resource, phase, server string, m measured) {
	r.server(server)
	key := rowKey{resource, phase}
	if r.cells[key] == nil {
		r.rows = append(r.rows, key)
		r.cells[key] = map[string][]measured{}
	}
	r.cells[key][server] = append(r.cells[key][server], m)
	fmt.Fprintf(os.Stderr, "  %-18s %-30s %8.3f ms CPU/op %9.0f op/s  p50 %v p99 %v\n", resource, phase, m.cpuPerOp(), m.rate(), m.p50, m.p99)
}

func (r *results) addStart(server string, ready time.Duration, idle int64) {
	r.server(server)
	r.starts[server] = append(r.starts[server], startCost{ready, idle})
	fmt.Fprintf(os.Stderr, "  ready after %v, %d MB\n", ready, idle>>20)
}

func (r *results) addEnd(server string, resident int64) {
	r.ends[server] = append(r.ends[server], resident)
	fmt.Fprintf(os.Stderr, "  %d MB at the end\n", resident>>20)
}

// cpuPerOp is in milliseconds.
func (m measured) cpuPerOp() float64 { return float64(m.cpu.Microseconds()) / 1000 / float64(m.ops) }

func (m measured) rate() float64 { return float64(m.ops) / m.elapsed.Seconds() }

func median[T any, N cmp.Ordered](all []T, of func(T) N) N {
	values := make([]N, 0, len(all))
	for _, v := range all {
		values = append(values, of(v))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// write prints the results as Markdown.
func (r *results) write(w io.Writer) error {
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	fmt.Fprintf(w, "# Results\n\nCommit %s, %s, %d CPUs (%s), %d rounds, medians.\n\n",
		strings.TrimSpace(string(commit)), runtime.Version(), runtime.NumCPU(), cpuModel(), *rounds)
	fmt.Fprintln(w, "| server | exec to ready | resident, idle | resident, at the end |\n| --- | --- | --- | --- |")
	for _, s := range r.servers {
		if len(r.starts[s]) == 0 {
			continue
		}
		fmt.Fprintf(w, "| %s | %d ms | %d MB | %d MB |\n", s,
			median(r.starts[s], func(c startCost) int64 { return c.ready.Milliseconds() }),
			median(r.starts[s], func(c startCost) int64 { return c.idle >> 20 }),
			median(r.ends[s], func(n int64) int64 { return n >> 20 }))
	}
	fmt.Fprintln(w, "\n| resource | work | server | CPU/op | op/s | p50 | p99 | CPU ratio |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, key := range r.rows {
		base := r.base(key)
		for _, s := range r.servers {
			all := r.cells[key][s]
			if len(all) == 0 {
				continue
			}
			cpu := median(all, measured.cpuPerOp)
			ratio := "–"
			if base > 0 {
				ratio = fmt.Sprintf("%.2f ×", cpu/base)
			}
			fmt.Fprintf(w, "| %s | %s | %s | %.3f ms | %.0f | %.2f ms | %.2f ms | %s |\n", key.resource, key.phase, s, cpu,
				median(all, measured.rate), ms(median(all, func(m measured) time.Duration { return m.p50 })),
				ms(median(all, func(m measured) time.Duration { return m.p99 })), ratio)
		}
	}
	return nil
}

// base is the CPU per operation of the yardstick, 0 where it has none.
func (r *results) base(key rowKey) float64 {
	for _, s := range r.servers {
		if all := r.cells[key][s]; strings.HasPrefix(s, "sample-apiserver") && len(all) > 0 {
			return median(all, measured.cpuPerOp)
		}
	}
	return 0
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func cpuModel() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}
