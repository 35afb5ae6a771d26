package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"triplane.dev/e2e/harness"
)

const (
	apartName  = "Triplane, a processor apart"
	alonePhase = "get, one user alone"
	floodPhase = "get, beside a flood of another's lists"
	// Two users who may read everything.
	lightUser = "light"
	floodUser = "flood"
)

// fairness has the rows of one user alone and beside a flood.
func fairness() []phase {
	return []phase{
		{"create", nil, create},
		{alonePhase, nil, beside(false)},
		{floodPhase, nil, beside(true)},
	}
}

// apart is a server with a processor of its own, on which fairness is measured:
// where clients share its processors the kernel's scheduling of processes is most
// of what a client waits for. There is none on a machine of one processor.
func apart(p harness.Programs) []kind {
	if runtime.NumCPU() < 2 {
		return nil
	}
	return []kind{{apartName, func(res *results, name string) error {
		start := func(dir string) (*target, error) {
			if err := pin("0"); err != nil { // the server inherits it
				return nil, err
			}
			t, err := startTriplane(p, dir)
			return t, errors.Join(err, pin("1"))
		}
		err := withTarget(start, func(t *target) error {
			return measure(res, name, t, []resource{configMaps}, fairness())
		})
		return errors.Join(err, pin(fmt.Sprintf("0-%d", runtime.NumCPU()-1)))
	}}}
}

// pin has this process, and those that it starts from now on, run on these
// processors only.
func pin(processors string) error {
	out, err := exec.Command("taskset", "-a", "-p", "-c", processors, strconv.Itoa(os.Getpid())).CombinedOutput()
	if err != nil {
		return fmt.Errorf("taskset: %w: %s", err, out)
	}
	return nil
}

// readers lets both read.
var readers = setupObject{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
	`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"bench-readers"},
"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"light"},{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"flood"}]}`}

// beside measures the gets of one user, one after the other, alone or while
// another user lists everything on all connections: what priority and fairness
// leaves of a light user's latency.
func beside(flood bool) func(*bench, resource) (measured, error) {
	return func(b *bench, r resource) (measured, error) {
		if err := b.create(readers); err != nil {
			return measured{}, err
		}
		own := newLoader(b.target.url, b.target.tls)
		defer own.close()
		one := func() error {
			_, err := own.send(own.clients[0], request{method: "GET", path: r.path(0), want: 200, user: lightUser})
			return err
		}
		for one() != nil {
			time.Sleep(10 * time.Millisecond) // until the binding is known
		}
		if flood {
			stop, err := b.flood(r)
			if err != nil {
				return measured{}, err
			}
			defer stop()
			time.Sleep(2 * time.Second) // the connections of the flood open
		}
		return b.alternate(b.n(5000), one)
	}
}

// flood has another process list the resource on all connections until the
// returned function is called: what lists cost their client is no cost of the
// server. The process has the lowest priority, as if it ran elsewhere: it gets
// the processors when the server waits for it.
func (b *bench) flood(r resource) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command("nice", "-n", "19", self, "-kubeconfig", b.target.kubeconfig, "-flood", r.collection)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = in.Close()
		_ = cmd.Wait() // what it did was measured
	}, nil
}

// floodUntilEOF is what the other process does: it lists a path from all clients
// until its input ends. The flood ends in 429 now and then; that is part of it.
func floodUntilEOF(t *target, path string) error {
	l := newLoader(t.url, t.tls)
	var over atomic.Bool
	var answered, refusals, received atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	for _, c := range l.clients {
		all.Go(func() {
			for !over.Load() {
				var refused *statusError
				n, err := l.send(c, request{method: "GET", path: path, want: 200, user: floodUser})
				switch {
				case err == nil:
					answered.Add(1)
					received.Add(n)
				case errors.As(err, &refused):
					refusals.Add(1)
				default:
					return
				}
			}
		})
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	over.Store(true)
	all.Wait()
	took := time.Since(start).Seconds()
	progress("  flood: %.0f lists/s, %.0f MB/s, %d refused", float64(answered.Load())/took,
		float64(received.Load())/took/1e6, refusals.Load())
	return err
}

// alternate measures n operations, one after the other.
func (b *bench) alternate(n int, one func() error) (measured, error) {
	took := make([]time.Duration, n)
	before, start := cpuTime(b.target.pids), time.Now()
	for i := range n {
		begun := time.Now()
		if err := one(); err != nil {
			return measured{}, err
		}
		took[i] = time.Since(begun)
	}
	m := measured{ops: n, elapsed: time.Since(start), cpu: cpuTime(b.target.pids) - before}
	slices.Sort(took)
	m.p50, m.p99 = took[n/2], took[n*99/100]
	return m, nil
}
