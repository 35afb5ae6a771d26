package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane/e2e/harness"
)

var (
	rounds     = flag.Int("rounds", 3, "how often each server is measured")
	scale      = flag.Float64("scale", 1, "factor on the number of operations")
	only       = flag.String("only", "", "run only the phases whose name contains one of these comma-separated texts (create always runs)")
	onlyServer = flag.String("servers", "", "run only the servers whose name contains this")
	kubeconfig = flag.String("kubeconfig", "", "measure this API server instead of starting any (its CPU is not known)")
)

// errSkip says that a phase does not apply to a resource.
var errSkip = errors.New("does not apply")

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	res := newResults()
	if *kubeconfig != "" {
		t, err := given(*kubeconfig)
		if err != nil {
			return err
		}
		if err := measure(res, "given", t, []resource{configMaps}); err != nil {
			return err
		}
		return res.write(os.Stdout)
	}
	p, err := harness.Build()
	if err != nil {
		return err
	}
	for round := range *rounds {
		for _, k := range kinds(p) {
			if !strings.Contains(k.name, *onlyServer) {
				continue
			}
			fmt.Fprintf(os.Stderr, "round %d: %s\n", round+1, k.name)
			if err := measureKind(res, k); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return res.write(os.Stdout)
}

// given is an API server that somebody else runs.
func given(file string) (*target, error) {
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		return nil, err
	}
	t := &target{url: config.Host}
	t.tls, err = rest.TLSConfigFor(config)
	return t, err
}

func measureKind(res *results, k kind) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t, err := k.start(dir)
	if t != nil {
		defer t.close()
	}
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	res.addStart(k.name, t.ready, residentBytes(t.pids))
	return measure(res, k.name, t, k.resources)
}

// measure runs all phases on all resources.
func measure(res *results, name string, t *target, resources []resource) error {
	for _, r := range resources {
		b := &bench{target: t, loader: newLoader(t.url, t.tls)}
		err := b.setUp(r)
		for _, p := range phases() {
			if err != nil {
				break
			}
			if !wanted(p.name) {
				continue
			}
			var m measured
			m, err = p.run(b, r)
			if errors.Is(err, errSkip) {
				err = nil
				continue
			}
			if err == nil {
				res.add(r.name, p.name, name, m)
			}
		}
		b.loader.close()
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	res.addEnd(name, residentBytes(t.pids))
	return nil
}

func wanted(phase string) bool {
	return *only == "" || phase == "create" || slices.ContainsFunc(strings.Split(*only, ","), func(s string) bool { return strings.Contains(phase, s) })
}

// bench is the load on one target.
type bench struct {
	target *target
	loader *loader
}

// n scales a number of operations.
func (b *bench) n(n int) int { return max(1, int(float64(n)**scale)) }

func (b *bench) load(n int, next func(i int) request) (measured, error) {
	return b.loader.run(n, b.target.pids, next)
}

// setUp creates what a resource needs and waits until it is served.
func (b *bench) setUp(r resource) error {
	for _, o := range r.setup {
		_, err := b.loader.send(b.loader.clients[0], request{method: "POST", path: o.path, contentType: "application/json", body: []byte(o.body), want: 201})
		if err != nil && !strings.Contains(err.Error(), "AlreadyExists") {
			return err
		}
	}
	return b.target.wait(func() error {
		_, err := b.loader.send(b.loader.clients[0], request{method: "GET", path: r.collection, want: 200})
		return err
	})
}

// version is the present resourceVersion of a resource's collection.
func (b *bench) version(ctx context.Context, r resource) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.loader.url+r.collection+"?limit=1", nil)
	if err != nil {
		return "0"
	}
	resp, err := b.loader.clients[0].Do(req)
	if err != nil {
		return "0"
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	json.Unmarshal(body, &list)
	return cmp.Or(list.Metadata.ResourceVersion, "0")
}
