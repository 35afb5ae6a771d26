package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Server is a running triplane with its own data directory and port.
type Server struct {
	*Process
	Programs   Programs
	DataDir    string
	Port       int
	Kubeconfig string
	// Config is the administrator's, for client-go.
	Config *rest.Config

	probe  *rest.RESTClient
	args   []string
	before string // commands of a shell
	disk   *Disk
	clock  *Clock
}

// Start builds and starts the server with extra flags and waits until it is
// ready. No controllers run in it unless the flags say so.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := Prepare(t, args...)
	s.Restart(t)
	return s
}

// StartOn is Start for a server whose files are on a disk.
func StartOn(t testing.TB, disk *Disk, args ...string) *Server {
	t.Helper()
	s := Prepare(t, args...)
	s.disk = disk
	s.Restart(t)
	return s
}

// StartAt is Start for a server that has a clock of its own.
func StartAt(t testing.TB, clock *Clock, args ...string) *Server {
	t.Helper()
	s := Prepare(t, args...)
	s.clock = clock
	s.Restart(t)
	return s
}

// StartAfter is Start for a server that is started from a shell after commands that limit it.
func StartAfter(t testing.TB, commands string, args ...string) *Server {
	t.Helper()
	s := Prepare(t, args...)
	s.before = commands
	s.Restart(t)
	return s
}

// StartUnready is Start for a server that something keeps from being ready: it returns
// when requests are answered.
func StartUnready(t testing.TB, args ...string) *Server {
	t.Helper()
	s := Prepare(t, args...)
	s.Begin(t)
	s.wait(t, "/version")
	return s
}

// StartControlled starts a server with all controllers.
func StartControlled(t testing.TB, args ...string) (*Server, *kubernetes.Clientset) {
	t.Helper()
	s := Start(t, append([]string{"--controllers=*"}, args...)...)
	return s, kubernetes.NewForConfigOrDie(s.Config)
}

// Prepare is Start that does not start it.
func Prepare(t testing.TB, args ...string) *Server {
	t.Helper()
	if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--controllers") }) {
		args = append([]string{"--controllers=none"}, args...)
	}
	p, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Programs: p, DataDir: t.TempDir(), Port: FreePort(t), args: args}
	s.Kubeconfig = filepath.Join(s.DataDir, "admin.kubeconfig")
	return s
}

// Restart starts the server again on the same data directory and port, after it
// was terminated or killed.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Begin(t)
	s.WaitReady(t)
}

// Upgrade terminates the server and starts it again as a release, the program's own if it is empty.
func (s *Server) Upgrade(t testing.TB, release string) {
	t.Helper()
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Emulate(release)
	s.Restart(t)
}

// Emulate has the server be started as a release, the program's own if it is empty.
func (s *Server) Emulate(release string) {
	s.args = slices.DeleteFunc(s.args, func(arg string) bool { return strings.HasPrefix(arg, "--emulated-version=") })
	if release != "" {
		s.args = append(s.args, "--emulated-version="+release)
	}
}

// Begin is Restart that does not wait for anything.
func (s *Server) Begin(t testing.TB) {
	t.Helper()
	args := append([]string{"--data-dir", s.DataDir, "--secure-port", strconv.Itoa(s.Port), "--bind-address",
		"127.0.0.1"}, s.args...)
	cmd, start, started := exec.Command(s.Programs.Triplane, args...), (*exec.Cmd).Start, func() {}
	switch {
	case s.disk != nil:
		cmd, started = s.disk.command(t, s.Programs.Triplane, args)
	case s.clock != nil:
		start = s.clock.start
	case s.before != "":
		cmd = exec.Command("sh", append([]string{"-c", s.before + `; exec "$0" "$@"`, s.Programs.Triplane}, args...)...)
	}
	s.Process = startBy(t, cmd, start)
	started()
}

// WaitReady waits until the server is ready.
func (s *Server) WaitReady(t testing.TB) {
	t.Helper()
	s.wait(t, "/readyz")
}

// wait waits until a path is answered with 200.
func (s *Server) wait(t testing.TB, path string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := s.answers(ctx, path)
		if err == nil {
			return
		}
		select {
		case <-s.exited:
			t.Fatalf("triplane ended: %v\n%s", s.err, s.Output())
		case <-ctx.Done():
			t.Fatalf("triplane is not ready: %v\n%s", err, s.Output())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Server) answers(ctx context.Context, path string) error {
	if s.Config == nil {
		config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
		if err != nil {
			return err
		}
		config.QPS, config.Burst = -1, 0
		s.Config = config
	}
	if s.probe == nil {
		config := rest.CopyConfig(s.Config)
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		client, err := rest.UnversionedRESTClientFor(config)
		if err != nil {
			return err
		}
		s.probe = client
	}
	return s.probe.Get().AbsPath(path).Do(ctx).Error()
}

// Kubectl runs kubectl as the administrator and returns what it prints. It fails
// the test if kubectl fails.
func (s *Server) Kubectl(t testing.TB, args ...string) string {
	t.Helper()
	out, err := s.TryKubectl(t, "", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// KubectlIn runs kubectl with standard input.
func (s *Server) KubectlIn(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, err := s.TryKubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// TryKubectl runs kubectl and returns what it prints, and its failure.
func (s *Server) TryKubectl(t testing.TB, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Programs.Kubectl,
		append([]string{"--kubeconfig", s.Kubeconfig, "--cache-dir", filepath.Join(s.DataDir, "kubectl-cache")},
			args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "HOME="+s.DataDir)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// StartEtcd starts an etcd process and returns its client URL.
func StartEtcd(t testing.TB) string {
	t.Helper()
	client, _ := StartEtcdIn(t, t.TempDir())
	return client
}

// StartEtcdIn is StartEtcd with a data directory, and returns the process, too.
func StartEtcdIn(t testing.TB, dir string) (string, *Process) {
	t.Helper()
	p, err := Build()
	if err != nil {
		t.Fatal(err)
	}
	client := fmt.Sprintf("http://127.0.0.1:%d", FreePort(t))
	peer := fmt.Sprintf("http://127.0.0.1:%d", FreePort(t))
	return client, startProcess(t, p.Etcd, "--data-dir", dir, "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
}

// StartProgram runs any program until the test ends.
func StartProgram(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	return startProcess(t, program, args...)
}
