package former

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// commit is the last one whose program is that of the former release: it serves Kubernetes 1.36, and has etcd 3.6.
const commit = "d6a9d3004d4963fe8b48f66e9a12e929380af298"

// truncated has the log of etcd be truncated often, whose beginning the other program reads, too.
const truncated = "--embedded-etcd-snapshot-count=100"

// formerEtcd is the minor release of etcd 3 in that program.
const formerEtcd = "6"

var built = sync.OnceValues(build)

// errNoHistory means that the repository lacks the commit.
var errNoHistory = errors.New("the repository does not have commit " + commit + ": run git fetch --unshallow")

// build builds the program of the former release, and returns its path. It stays in the folder of programs.
func build() (string, error) {
	if err := exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run(); err != nil {
		return "", errNoHistory
	}
	out, err := filepath.Abs("../.bin/former-" + commit[:12])
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	dir, err := os.MkdirTemp("", "former")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // of no use any more
	root := exec.Command("git", "rev-parse", "--show-toplevel")
	top, err := root.Output()
	if err != nil {
		return "", err
	}
	archive := exec.Command("git", "-C", strings.TrimSpace(string(top)), "archive", commit)
	source, err := archive.Output()
	if err != nil {
		return "", fmt.Errorf("git archive: %w", err)
	}
	extract := exec.Command("tar", "-x", "-C", dir)
	extract.Stdin = bytes.NewReader(source)
	if text, err := extract.CombinedOutput(); err != nil {
		return "", fmt.Errorf("tar: %w\n%s", err, text)
	}
	compile := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", out+".unfinished",
		"./cmd/triplane")
	compile.Dir, compile.Env = dir, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if text, err := compile.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return out, os.Rename(out+".unfinished", out)
}

// programs returns the programs of the former release and of this one.
func programs(t *testing.T) (former, current string) {
	t.Helper()
	former, err := built()
	if errors.Is(err, errNoHistory) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	return former, all.Triplane
}

// change terminates a server and starts it again with a program.
func change(t *testing.T, s *harness.Server, program string) {
	t.Helper()
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Programs.Triplane = program
	s.Restart(t)
}

// awaitFormerEtcd waits until the program of the former release can open the data directory of a server.
func awaitFormerEtcd(t *testing.T, s *harness.Server) {
	t.Helper()
	const metric = "\ntriplane_embedded_etcd_stored_minor_release "
	harness.Eventually(t, func() error {
		text, err := kubernetes.NewForConfigOrDie(s.Config).RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
		if err != nil {
			return err
		}
		_, value, found := strings.Cut(string(text), metric)
		if minor, _, _ := strings.Cut(value, "\n"); !found || minor != formerEtcd {
			return fmt.Errorf("the directory is of etcd 3.%s", minor)
		}
		return nil
	})
}

// readsAll lists all resources of a server, and returns how many objects each has.
func readsAll(t *testing.T, s *harness.Server) map[schema.GroupVersionResource]int {
	t.Helper()
	client := dynamic.NewForConfigOrDie(s.Config)
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(s.Config).ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	found := map[schema.GroupVersionResource]int{}
	for gvr := range resources(t, lists) {
		list, err := client.Resource(gvr).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Errorf("%s lists %s: %v", s.Programs.Triplane, gvr, err)
			continue
		}
		found[gvr] = len(list.Items)
	}
	return found
}

// resources returns the resources that can be listed.
func resources(t *testing.T, lists []*metav1.APIResourceList) map[schema.GroupVersionResource]struct{} {
	t.Helper()
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists)
	all, err := discovery.GroupVersionResources(lists)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestServerThereAndBack upgrades a server, and goes back to the former program, which reads all that the new one has
// stored.
func TestServerThereAndBack(t *testing.T) {
	former, current := programs(t)
	s := harness.Prepare(t, "--controllers=*", truncated)
	s.Programs.Triplane = former
	s.Restart(t)
	harness.ServeWidgets(t, s)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml")
	s.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")
	writes := oracle.NewWrites("kube-public")
	writes.During(t, s.Config, 50, func() {})
	before := readsAll(t, s)

	change(t, s, current)
	writes.Check(t, s.Config)
	writes.During(t, s.Config, 50, func() {})
	s.Kubectl(t, "label", "--all", "--overwrite", "-n", "shop", "deployments,services,configmaps,secrets",
		"release=new")
	awaitFormerEtcd(t, s)
	snapshot := filepath.Join(t.TempDir(), "backup.db")
	if out, err := exec.Command(current, "snapshot", "save", snapshot, "--data-dir", s.DataDir).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	change(t, s, former)
	writes.Check(t, s.Config)
	after := readsAll(t, s)
	for gvr, n := range before {
		if after[gvr] < n {
			t.Errorf("%d of %d objects of %s are left", after[gvr], n, gvr)
		}
	}
	harness.Expect(t, s.Kubectl(t, "get", "-n", "shop", "configmaps,secrets", "-l", "release=new", "-o", "name"),
		"configmap/")
	writes.During(t, s.Config, 20, func() {})

	restored := harness.Prepare(t)
	if out, err := exec.Command(former, "snapshot", "restore", snapshot, "--data-dir", restored.DataDir).
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	restored.Programs.Triplane = former
	restored.Restart(t)
	if got := readsAll(t, restored); len(got) < len(before) {
		t.Errorf("the snapshot of the new program has %d resources of %d", len(got), len(before))
	}
	change(t, s, current)
	writes.Check(t, s.Config)
}

// TestClusterThereAndBack upgrades the members of a cluster one by one while clients write, and takes them back.
func TestClusterThereAndBack(t *testing.T) {
	former, current := programs(t)
	c := &harness.Cluster{Program: former, Args: []string{truncated}}
	var ways []oracle.Writer
	for _, name := range []string{"a", "b", "c"} {
		c.Join(t, name)
		ways = append(ways, kubernetes.NewForConfigOrDie(c.Servers[name].Config).CoreV1().ConfigMaps("kube-public"))
	}
	writes := oracle.NewWrites("kube-public")
	for _, program := range []string{current, former, current} {
		for _, name := range []string{"a", "b", "c"} {
			s := c.Servers[name]
			if program == former {
				awaitFormerEtcd(t, s)
			}
			writes.Through(t, ways, 20, func() { change(t, s, program) })
			for _, s := range c.Servers { // after which objects whose write was interrupted are written again
				writes.Check(t, s.Config)
			}
		}
	}
}

// TestFormerProgramStatesTheRelease: a directory that was not lowered is of the new release, and the former program
// exits with a line that states the release.
func TestFormerProgramStatesTheRelease(t *testing.T) {
	former, _ := programs(t)
	s := harness.Start(t, "--min-compatibility-version=1.37")
	time.Sleep(time.Second) // after which etcd has raised the release of a new directory
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, former, "--data-dir", s.DataDir, "--bind-address", "127.0.0.1",
		"--secure-port", strconv.Itoa(s.Port)).CombinedOutput()
	var exited *exec.ExitError
	if !errors.As(err, &exited) || exited.ExitCode() != 1 {
		t.Errorf("the former program ends with %v", err)
	}
	if text := string(out); !strings.Contains(text, "3.7") || strings.Contains(text, "goroutine ") {
		t.Errorf("the former program prints\n%s", text)
	}
}
