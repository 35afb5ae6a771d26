package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/e2e/harness"
	build "triplane.dev/e2e/programs"
)

var (
	rounds            = flag.Int("rounds", 2, "how often each server is measured")
	scale             = flag.Float64("scale", 1, "factor on the number of operations")
	only              = flag.String("only", "", "run only the phases whose name contains one of these comma-separated texts (create always runs)")
	onlyServer        = flag.String("servers", "", "run only the servers whose name contains this")
	onlyResources     = flag.String("resources", "", "load only the resources whose name contains this")
	long              = flag.Bool("long", false, "run the scaling phases too, once, on Triplane with its embedded etcd")
	output            = flag.String("out", "", "write the Markdown to this file, not to standard output")
	profiles          = flag.String("profiles", "", "write profiles of the CPU of Triplane's processes into this directory")
	kubeconfig        = flag.String("kubeconfig", "", "measure this API server instead of starting any")
	programs          = flag.String("programs", "", "take triplane, etcd and sample-apiserver from this directory, do not build them")
	controllerManager = flag.String("kube-controller-manager", "",
		"measure this program's controllers beside Triplane's")
	floodPath = flag.String("flood", "", "only list this path of the server of -kubeconfig on all connections until standard input ends")
	bareDir   = flag.String("bare", "", "only be the bare server, with the replies recorded in this directory")
	barePort  = flag.Int("bare-port", 0, "the port of the bare server")
	processes = flag.String("pids", "", "the processes of the server of -kubeconfig, comma-separated; without them its CPU is not known")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if *bareDir != "" {
		return serveBare(*bareDir, *barePort)
	}
	if *floodPath != "" {
		t, err := given(*kubeconfig)
		if err != nil {
			return err
		}
		return floodUntilEOF(t, *floodPath)
	}
	res := newResults()
	if err := collect(res); err != nil {
		return err
	}
	if *output == "" {
		return res.write(os.Stdout)
	}
	return res.save()
}

// save writes what there is so far to the output file, if there is one: a run
// that is broken off has measured something.
func (r *results) save() error {
	if *output == "" {
		return nil
	}
	f, err := os.Create(*output)
	if err != nil {
		return err
	}
	return errors.Join(r.write(f), f.Close())
}

func collect(res *results) error {
	if *kubeconfig != "" {
		t, err := given(*kubeconfig)
		if err != nil {
			return err
		}
		if *only == memoryPhase {
			resident, err := memoryAfterLoad(t)
			res.addLoaded("given", resident)
			return err
		}
		return measure(res, "given", t, []resource{configMaps, pods}, slices.Concat(phases(), fairness()))
	}
	p, err := findPrograms()
	if err != nil {
		return err
	}
	for round := range *rounds {
		for _, k := range kinds(p) {
			if !strings.Contains(k.name, *onlyServer) {
				continue
			}
			progress("round %d: %s", round+1, k.name)
			if err := errors.Join(k.measure(res), res.save()); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	if *long {
		progress("scaling")
		return scaling(res, p)
	}
	return nil
}

func findPrograms() (harness.Programs, error) {
	if *programs == "" {
		return harness.Build()
	}
	in := func(name string) string { return filepath.Join(*programs, name) }
	return harness.Programs{Triplane: in("triplane"), Etcd: in("etcd")}, nil
}

// findSample returns the path of Kubernetes' sample API server.
func findSample() (string, error) {
	if *programs == "" {
		return build.SampleAPIServer.Path()
	}
	return filepath.Join(*programs, "sample-apiserver"), nil
}

// progress reports to whoever waits.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// given is an API server that somebody else runs.
func given(file string) (*target, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	t := &target{url: config.Host, kubeconfig: file}
	for pid := range strings.SplitSeq(*processes, ",") {
		if n, err := strconv.Atoi(pid); err == nil {
			t.pids = append(t.pids, n)
		}
	}
	t.tls, err = rest.TLSConfigFor(config)
	return t, err
}

// idleAfter is when a server is idle: what it does by itself at the start, and every ten seconds,
// has been done.
const idleAfter = 15 * time.Second

// measureServer starts an API server on an empty directory, loads it, and loads
// another one to see what memory it takes.
func measureServer(start func(dir string) (*target, error),
	resources []resource) func(res *results, name string) error {
	return func(res *results, name string) error {
		err := withTarget(start, func(t *target) error {
			time.Sleep(idleAfter)
			res.addStart(name, t.ready, residentBytes(t.pids))
			return errors.Join(measure(res, name, t, resources, phases()), res.addDatabase(name, t))
		})
		if err != nil || !wanted(memoryPhase) ||
			!slices.ContainsFunc(resources, func(r resource) bool { return r.name == pods.name }) {
			return err
		}
		return withTarget(start, func(t *target) error {
			resident, err := memoryAfterLoad(t)
			res.addLoaded(name, resident)
			return err
		})
	}
}

// withTarget calls f with a server that runs as long as f does.
func withTarget(start func(dir string) (*target, error), f func(*target) error) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	t, err := start(dir)
	if t != nil {
		defer t.close()
	}
	if err != nil {
		return err
	}
	return f(t)
}

// measure runs the phases on all resources.
func measure(res *results, name string, t *target, resources []resource, phases []phase) error {
	for _, r := range resources {
		if !strings.Contains(r.name, *onlyResources) {
			continue
		}
		if err := measureResource(res, name, t, r, phases); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

func measureResource(res *results, name string, t *target, r resource, phases []phase) error {
	b := newBench(t)
	defer b.loader.close()
	if err := b.setUp(r); err != nil {
		return err
	}
	for _, p := range phases {
		if !wanted(p.name) || (p.applies != nil && !p.applies(r)) || (p.name == "create" && b.created(r)) {
			continue
		}
		m, err := p.run(b, r)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		res.add(r.name, p.name, name, m)
	}
	return nil
}

func wanted(phase string) bool {
	return *only == "" || phase == "create" ||
		slices.ContainsFunc(strings.Split(*only, ","), func(s string) bool { return strings.Contains(phase, s) })
}
