package main

import (
	"bytes"
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
	loaded  map[string][]int64
	stored  map[string][]int64 // bytes of databases
	kept    map[string][]int64 // resident bytes for each of something, by what it is
	curves  []*curve
}

type rowKey struct{ resource, phase string }

type startCost struct {
	ready time.Duration
	idle  int64
}

func newResults() *results {
	return &results{cells: map[rowKey]map[string][]measured{}, starts: map[string][]startCost{},
		loaded: map[string][]int64{}, stored: map[string][]int64{},
		kept: map[string][]int64{}}
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
	progress("  %-18s %-30s %8.3f ms CPU/op %9.0f op/s  p50 %v p99 %v", resource, phase, m.cpuPerOp(), m.rate(), m.p50,
		m.p99)
}

func (r *results) addStart(server string, ready time.Duration, idle int64) {
	r.server(server)
	r.starts[server] = append(r.starts[server], startCost{ready, idle})
	progress("  ready after %v, %d MB", ready, idle>>20)
}

func (r *results) addLoaded(server string, resident int64) {
	if resident == 0 {
		return
	}
	r.loaded[server] = append(r.loaded[server], resident)
	progress("  %d MB after the load", resident>>20)
}

// addKept enters the resident bytes for each of something.
func (r *results) addKept(what string, bytes int64) {
	r.kept[what] = append(r.kept[what], bytes)
	progress("  %d KB for each: %s", bytes>>10, what)
}

// keptMB is the memory for each of something.
func (r *results) keptMB(what string) (float64, bool) {
	all := r.kept[what]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, func(n int64) float64 { return float64(n) / (1 << 20) }), true
}

// latency is the median over the rounds of a percentile of a row, in milliseconds.
func (r *results) latency(key rowKey, server string, of func(measured) time.Duration) (float64, bool) {
	all := r.cells[key][server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, func(m measured) float64 { return ms(of(m)) }), true
}

// cpuPerOp is in milliseconds.
func (m measured) cpuPerOp() float64 { return float64(m.cpu.Microseconds()) / 1000 / float64(m.ops) }

func (m measured) rate() float64 { return float64(m.ops) / m.elapsed.Seconds() }

// median of an even number of values is the mean of the two in the middle.
func median[T any, N int64 | float64 | time.Duration](all []T, of func(T) N) N {
	values := make([]N, 0, len(all))
	for _, v := range all {
		values = append(values, of(v))
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

// cpu is the median CPU per operation of a row, in milliseconds.
func (r *results) cpu(key rowKey, server string) (float64, bool) {
	all := r.cells[key][server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, measured.cpuPerOp), true
}

func (r *results) readyMillis(server string) (float64, bool) {
	all := r.starts[server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, func(c startCost) float64 { return ms(c.ready) }), true
}

func (r *results) idleMB(server string) (float64, bool) {
	all := r.starts[server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, func(c startCost) float64 { return float64(c.idle) / (1 << 20) }), true
}

func (r *results) loadedMB(server string) (float64, bool) {
	all := r.loaded[server]
	if len(all) == 0 {
		return 0, false
	}
	return median(all, func(n int64) float64 { return float64(n) / (1 << 20) }), true
}

// eventMillis is the median latency of events.
func (r *results) eventMillis(server string) (float64, bool) {
	return r.latency(rowKey{configMaps.name, "event to each of 100 watchers"}, server, measured.median)
}

// floodRatio is the p99 of a user's gets beside a flood, over that of one alone, of
// the server that has a processor of its own.
func (r *results) floodRatio(string) (float64, bool) {
	alone, beside := r.cells[rowKey{configMaps.name, alonePhase}][apartName],
		r.cells[rowKey{configMaps.name, floodPhase}][apartName]
	if len(alone) == 0 || len(beside) == 0 {
		return 0, false
	}
	p99 := func(m measured) time.Duration { return m.p99 }
	return float64(median(beside, p99)) / float64(median(alone, p99)), true
}

// write prints the results as Markdown.
func (r *results) write(w io.Writer) error {
	var b bytes.Buffer
	commit, _ := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	fmt.Fprintf(&b, "# Results\n\nCommit %s, %s, %d CPUs (%s), %d rounds, medians. Written by `make bench`; see doc.go there for what is measured.\n",
		strings.TrimSpace(string(commit)), runtime.Version(), runtime.NumCPU(), cpuModel(), *rounds)
	if load := loadAverage(); load != "" {
		fmt.Fprintf(&b, "The load of the machine was %s at the end.\n", load)
	}
	if len(r.servers) > 0 {
		if slices.Contains(r.servers, embeddedName) {
			r.writeLimits(&b)
		}
		r.writeAims(&b)
		r.writeDatabases(&b)
		r.writeMemory(&b)
		r.writeRows(&b)
	}
	for _, c := range r.curves {
		c.write(&b)
	}
	_, err := b.WriteTo(w)
	return err
}

func (r *results) writeAims(w *bytes.Buffer) {
	for _, server := range []string{embeddedName, externalName} {
		if !slices.Contains(r.servers, server) {
			continue
		}
		fmt.Fprintf(w, "\n## %s beside kube-apiserver\n\n| work | kube-apiserver + etcd, recorded | aim | measured | ratio | held |\n| --- | --- | --- | --- | --- | --- |\n", server)
		for _, y := range aims() {
			w.WriteString(y.compare(r, server))
		}
	}
}

func (r *results) writeMemory(w *bytes.Buffer) {
	fmt.Fprintln(w, "\n## Start and memory\n\n| server | exec to ready | resident, idle | after 3,000 pods and 6,000 ConfigMaps with 3 revisions | PostgreSQL's database after all rows |\n| --- | --- | --- | --- | --- |")
	for _, s := range r.servers {
		ready, ok := r.readyMillis(s)
		if !ok {
			continue
		}
		idle, _ := r.idleMB(s)
		loaded := "–"
		if n, ok := r.loadedMB(s); ok {
			loaded = fmt.Sprintf("%.0f MB", n)
		}
		stored := "–"
		if n, ok := r.storedMB(s); ok {
			stored = fmt.Sprintf("%.0f MB", n)
		}
		fmt.Fprintf(w, "| %s | %.0f ms | %.0f MB | %s | %s |\n", s, ready, idle, loaded, stored)
	}
}

func (r *results) writeRows(w *bytes.Buffer) {
	fmt.Fprintln(w, "\n## All rows\n\nThe ratio is to the sample-apiserver's CPU for the same work on its Flunders.\n\n"+
		"| resource | work | server | CPU/op | op/s | p50 | p99 | ratio |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
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

// loadAverage is how many tasks ran or waited for a processor in the last five minutes, those of others too.
func loadAverage() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) > 1 {
		return f[1]
	}
	return ""
}

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
