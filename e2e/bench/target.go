package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/e2e/harness"
	"triplane.dev/internal/freeport"
)

// target is a running API server.
type target struct {
	url string
	tls *tls.Config
	// kubeconfig is a file that names the server and has the credentials of tls.
	kubeconfig string
	pids       []int         // what is measured
	dir        string        // of Triplane's data
	flags      []string      // with which Triplane is started again
	store      string        // its URL; "" for the embedded etcd
	database   *database     // with PostgreSQL
	replicas   []endpoint    // the servers, where there are several
	ready      time.Duration // from the start of the process to /readyz 200
	stop       []func()
}

// kind is a server and how it is measured.
type kind struct {
	name string
	run  func(res *results, name string) error
}

func (k kind) measure(res *results) error { return k.run(res, k.name) }

const (
	embeddedName = "Triplane, embedded etcd"
	externalName = "Triplane + etcd process"
	sampleName   = "sample-apiserver + etcd process"
	etcdName     = "etcd alone"
	postgresName = "Triplane + PostgreSQL"
	kineName     = "Triplane + kine + PostgreSQL"
	rawPostgres  = "PostgreSQL backend alone"
	rawKine      = "kine + PostgreSQL alone"
)

func kinds(p harness.Programs) []kind {
	own := []resource{configMaps, pods, flundersCRD}
	all := []kind{
		{embeddedName, measureServer(func(dir string) (*target, error) { return startTriplane(p, dir) }, own)},
		{bareName, func(res *results, name string) error {
			return withTarget(func(dir string) (*target, error) { return startBare(p, dir) }, func(t *target) error {
				return measure(res, name, t, []resource{configMaps, pods}, phases())
			})
		}},
		{externalName, measureServer(func(dir string) (*target, error) { return startWithEtcd(p, dir) }, own)},
		{sampleName, measureServer(func(dir string) (*target, error) { return startSample(p, dir) },
			[]resource{flunders})},
		{etcdName, func(res *results, name string) error {
			return withTarget(func(dir string) (*target, error) { return startEtcd(p, dir) },
				func(t *target) error { return measureRaw(openEtcd, res, name, t) })
		}},
		{postgresName, measureServer(func(dir string) (*target, error) { return startWithPostgres(p, dir) }, own)},
		{kineName, measureServer(func(dir string) (*target, error) { return startWithKine(p, dir) }, own)},
		{rawPostgres, func(res *results, name string) error {
			return withTarget(func(string) (*target, error) { return startPostgres() },
				func(t *target) error { return measureRaw(openPostgres, res, name, t) })
		}},
		{rawKine, func(res *results, name string) error {
			return withTarget(func(string) (*target, error) { return startKine() },
				func(t *target) error { return measureRaw(openEtcd, res, name, t) })
		}},
		largeDefinitions(p),
		inWorkspaces(p),
		restarted(p),
	}
	return slices.Concat(all, apart(p), controlled(p))
}

func (t *target) close() {
	for i := len(t.stop) - 1; i >= 0; i-- {
		t.stop[i]()
	}
	t.stop = nil
}

// run starts a process of the target.
func (t *target) run(program string, counted bool, args ...string) error {
	log, err := os.CreateTemp("", "bench-*.log")
	if err != nil {
		return err
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	if counted {
		t.pids = append(t.pids, cmd.Process.Pid)
	}
	t.stop = append(t.stop, func() {
		// What was measured stands; a server that ends badly changes nothing.
		_ = cmd.Process.Signal(syscall.SIGTERM) // an interrupt is ignored if the benchmark is in the background
		_ = cmd.Wait()
		_ = log.Close()
		_ = os.Remove(log.Name())
	})
	return nil
}

func startTriplane(p harness.Programs, dir string) (*target, error) {
	t := &target{}
	return t, t.triplane(p, dir, "", true)
}

// startEtcd starts etcd alone; the target's URL is etcd's.
func startEtcd(p harness.Programs, dir string) (*target, error) {
	t := &target{}
	var err error
	t.url, err = t.etcd(p, dir)
	return t, err
}

// triplane starts the server, waits until it is ready, and takes it as the
// target's endpoint. It has no controllers unless flags say so.
func (t *target) triplane(p harness.Programs, dir, etcd string, counted bool, flags ...string) error {
	port, err := freeport.Take()
	if err != nil {
		return err
	}
	args := []string{"--data-dir", dir, "--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(port)}
	if etcd != "" {
		args = append(args, "--etcd-servers", etcd)
	}
	if len(flags) == 0 {
		flags = []string{"--controllers=none"}
	}
	args = append(args, flags...)
	start := time.Now()
	if err := t.run(p.Triplane, counted, args...); err != nil {
		return err
	}
	t.url, t.dir, t.store, t.flags = fmt.Sprintf("https://127.0.0.1:%d", port), dir, etcd, flags
	t.kubeconfig = filepath.Join(dir, "admin.kubeconfig")
	if err := t.wait(func() error {
		config, err := clientcmd.BuildConfigFromFlags("", t.kubeconfig)
		if err != nil {
			return err
		}
		if t.tls, err = rest.TLSConfigFor(config); err != nil {
			return err
		}
		return t.probe()
	}); err != nil {
		return err
	}
	t.ready = time.Since(start)
	if *profiles != "" && counted {
		return t.profiled(*profiles)
	}
	return nil
}

func startWithEtcd(p harness.Programs, dir string, flags ...string) (*target, error) {
	t := &target{}
	etcd, err := t.etcd(p, filepath.Join(dir, "etcd"))
	if err != nil {
		return t, err
	}
	return t, t.triplane(p, filepath.Join(dir, "triplane"), etcd, true, flags...)
}

// startSample starts the API server of k8s.io/sample-apiserver, alone: it trusts
// the administrator's certificate, and asks a Triplane that is not measured for
// nothing but namespaces.
func startSample(p harness.Programs, dir string) (*target, error) {
	t := &target{}
	sample, err := findSample()
	if err != nil {
		return t, err
	}
	etcd, err := t.etcd(p, filepath.Join(dir, "etcd"))
	if err != nil {
		return t, err
	}
	core := filepath.Join(dir, "core")
	if err := t.triplane(p, core, "", false); err != nil {
		return t, err
	}
	port, err := freeport.Take()
	if err != nil {
		return t, err
	}
	kubeconfig := t.kubeconfig
	start := time.Now()
	if err := t.run(sample, true, "--etcd-servers", etcd, "--secure-port", strconv.Itoa(port),
		"--bind-address", "127.0.0.1", "--cert-dir", filepath.Join(dir, "sample"),
		"--client-ca-file", filepath.Join(core, "pki", "ca.crt"), "--kubeconfig", kubeconfig,
		"--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig); err != nil {
		return t, err
	}
	t.url = fmt.Sprintf("https://127.0.0.1:%d", port)
	t.tls = t.tls.Clone()
	t.tls.RootCAs, t.tls.InsecureSkipVerify = nil, true
	if t.kubeconfig, err = elsewhere(kubeconfig, t.url, dir); err != nil {
		return t, err
	}
	if err := t.wait(t.probe); err != nil {
		return t, err
	}
	t.ready = time.Since(start)
	return t, nil
}

// elsewhere copies a kubeconfig file for a server at another URL, whose
// certificate is not known.
func elsewhere(kubeconfig, url, dir string) (string, error) {
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		return "", err
	}
	for _, c := range config.Clusters {
		c.Server, c.CertificateAuthority, c.CertificateAuthorityData, c.InsecureSkipTLSVerify = url, "", nil, true
	}
	file := filepath.Join(dir, "elsewhere.kubeconfig")
	return file, clientcmd.WriteToFile(*config, file)
}

func (t *target) etcd(p harness.Programs, dir string) (string, error) {
	client, err := freeport.Take()
	if err != nil {
		return "", err
	}
	peer, err := freeport.Take()
	if err != nil {
		return "", err
	}
	c, e := fmt.Sprintf("http://127.0.0.1:%d", client), fmt.Sprintf("http://127.0.0.1:%d", peer)
	err = t.run(p.Etcd, true, "--data-dir", dir, "--log-level", "error", "--listen-client-urls", c,
		"--advertise-client-urls", c,
		"--listen-peer-urls", e, "--initial-advertise-peer-urls", e, "--initial-cluster", "default="+e)
	if err != nil {
		return "", err
	}
	return c, t.wait(func() error {
		resp, err := http.Get(c + "/health")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return nil
	})
}

func (t *target) wait(check func() error) error {
	deadline := time.Now().Add(5 * time.Minute) // millions of objects are read
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// probe asks /readyz.
func (t *target) probe() error {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: t.tls.Clone(), DisableKeepAlives: true},
		Timeout: 5 * time.Second}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("readyz: %s %s", resp.Status, b)
	}
	return nil
}
