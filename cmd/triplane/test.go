package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"triplane.dev"
	"triplane.dev/cmd/triplane/assets"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/server"
	"triplane.dev/internal/durable"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers"
)

const testUsage = `Starts a server for tests, in any language: objects are stored in memory, a free port of 127.0.0.1 is
chosen, and files are in a temporary directory that is deleted at the end. All controllers but
pod-garbage-collector-controller run. All flags of the server can be given.

When the server is ready, one line of JSON is written to the standard output:

  url                        the server's URL
  token, ca                  the administrator's bearer token, and the CA of the server in PEM
  kubeconfig, kubeconfigFile the administrator's kubeconfig, as text and as a file
  version, pid, ms           the emulated release, the process, and the time of the start in milliseconds

The server ends with SIGTERM and SIGINT, when its standard input, if that is a pipe, is closed, and when its parent
process ends. Killed servers leave a directory, which the next "triplane test" deletes.

The administrator resets all objects to those of the start, or to a checkpoint, between tests:

  POST /testing/checkpoints/start/reset
  POST /testing/checkpoints?id=NAME, POST /testing/checkpoints/NAME/reset, DELETE /testing/checkpoints/NAME

Usage:
  triplane test [flags]
`

// testFlags are the flags of the command test, in addition to the server's.
type testFlags struct {
	kubeconfig string
	detached   bool
}

func (f *testFlags) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fs.StringVar(&f.kubeconfig, "kubeconfig", "",
		"Write the administrator's kubeconfig to this file, and delete it at the end. If blank, it is in the "+
			"temporary directory.")
	fs.BoolVar(&f.detached, "detached", false,
		"Do not end when the standard input is closed or the parent process ends. Stop the server with SIGTERM.")
	return fs
}

// readyLine is the JSON that the command test prints when the server is ready.
type readyLine struct {
	URL            string `json:"url"`
	Token          string `json:"token"`
	CA             string `json:"ca"`
	Kubeconfig     string `json:"kubeconfig"`
	KubeconfigFile string `json:"kubeconfigFile"`
	Version        string `json:"version"`
	PID            int    `json:"pid"`
	Milliseconds   int64  `json:"ms"`
}

// runTest implements the command test.
func runTest(args []string) error {
	begun := time.Now()
	var flags testFlags
	o := testOptions(os.Stdout)
	done, err := o.Parse("triplane test", testUsage, args, flags.flagSet())
	if done || err != nil {
		return err
	}
	if err := o.ApplyLogging(); err != nil {
		return err
	}
	o.Out = nil
	t := &testServer{flags: flags, options: o, begun: begun}
	return host.UntilSignal(func(ctx context.Context) error { return t.run(ctx, os.Stdin, os.Stdout) })
}

// testOptions returns the defaults of the command test.
func testOptions(out io.Writer) *triplane.Options {
	o := triplane.NewOptions()
	o.Out, o.DataDir = out, testDir
	o.SecureServing.BindPort = 0
	o.Etcd.Memory = true
	o.Controllers.Selection = []string{controllers.Everything, "-" + assets.PodCollector}
	o.Kube.EndpointReconciler = triplane.ReconcilerNone
	o.Testing.Checkpoints = true
	return o
}

// testDir is the value of --data-dir that stands for a temporary directory.
const testDir = "temporary"

// testServer runs the server of the command test.
type testServer struct {
	flags   testFlags
	options *triplane.Options
	begun   time.Time
}

// run serves until ctx is done or the parent ends.
func (t *testServer) run(ctx context.Context, in *os.File, out io.Writer) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !t.flags.detached {
		worker.Go(func() {
			awaitParent(ctx, in)
			cancel()
		})
	}
	if t.options.DataDir == testDir {
		remove, err := t.temporaryDir()
		if err != nil {
			return err
		}
		defer remove()
	}
	token, err := t.addToken()
	if err != nil {
		return err
	}
	s, err := triplane.Start(ctx, t.options)
	if err != nil {
		return err
	}
	line, err := t.ready(ctx, s, token)
	if err == nil {
		err = json.NewEncoder(out).Encode(line)
	}
	if err != nil {
		return errors.Join(err, s.Stop())
	}
	if t.flags.kubeconfig != "" {
		defer func() { _ = os.Remove(t.flags.kubeconfig) }() // it may be deleted already
	}
	return s.Wait()
}

// manifestsWithin bounds the time until all objects of --manifests are applied.
const manifestsWithin = 30 * time.Second

// ready prepares the server for the first test, and returns its line.
func (t *testServer) ready(ctx context.Context, s *triplane.Server, token string) (*readyLine, error) {
	config, err := s.AdminConfig()
	if err != nil {
		return nil, fmt.Errorf("--client-ca-file is not supported: %w", err)
	}
	if err := s.AwaitDefaultAccount(ctx); err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, manifestsWithin)
	defer cancel()
	if err := s.AwaitManifests(within); err != nil {
		return nil, err
	}
	if err := s.SaveCheckpoint(ctx, triplane.StartCheckpoint); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(s.Kubeconfig())
	if err != nil {
		return nil, err
	}
	path := s.Kubeconfig()
	if t.flags.kubeconfig != "" {
		if path, err = filepath.Abs(t.flags.kubeconfig); err != nil {
			return nil, err
		}
		if err := durable.WriteFile(path, content, 0o600); err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
	}
	return &readyLine{URL: config.Host, Token: token, CA: string(config.CAData), Kubeconfig: string(content),
		KubeconfigFile: path, Version: server.DefaultVersion().GitVersion, PID: os.Getpid(),
		Milliseconds: time.Since(t.begun).Milliseconds()}, nil
}

// tokenBytes is the number of random bytes of the administrator's token.
const tokenBytes = 24

// addToken adds the token of an administrator to the static tokens of the server.
func (t *testServer) addToken() (token string, err error) {
	var tokens []byte
	if file := t.options.Authentication.TokenFile; file != "" {
		if tokens, err = os.ReadFile(file); err != nil {
			return "", fmt.Errorf("--token-auth-file: %w", err)
		}
		tokens = append(tokens, '\n')
	}
	random := make([]byte, tokenBytes)
	_, _ = rand.Read(random) // never fails
	token = hex.EncodeToString(random)
	tokens = fmt.Appendf(tokens, "%s,admin,admin,system:masters\n", token)
	if err := durable.MkdirAll(t.options.DataDir, 0o700); err != nil {
		return "", err
	}
	file := filepath.Join(t.options.DataDir, "tokens.csv")
	if err := durable.WriteFile(file, tokens, 0o600); err != nil {
		return "", err
	}
	t.options.Authentication.TokenFile = file
	return token, nil
}

// temporaryPrefix is the prefix of the temporary directories.
const temporaryPrefix = "triplane-test-"

// temporaryDir sets --data-dir to a temporary directory, until remove is called.
func (t *testServer) temporaryDir() (remove func(), err error) {
	worker.Go(func() { removeAbandoned(os.TempDir()) })
	dir, err := os.MkdirTemp("", temporaryPrefix)
	if err != nil {
		return nil, err
	}
	t.options.DataDir = dir
	return func() {
		if err := os.RemoveAll(dir); err != nil {
			klog.ErrorS(err, "Failed to delete the temporary directory", "directory", dir)
		}
	}, nil
}

// abandonedAfter is the age from which a directory without a server is deleted. A younger one may belong to a server
// that starts.
const abandonedAfter = time.Minute

// removeAbandoned deletes the temporary directories of killed servers.
func removeAbandoned(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, temporaryPrefix+"*")) // the pattern is valid
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < abandonedAfter {
			continue
		}
		held, err := host.LockDataDir(dir)
		if err != nil {
			continue // in use, or another user's
		}
		if err := os.RemoveAll(dir); err != nil {
			klog.V(2).InfoS("Failed to delete the directory of a killed server", "directory", dir, "err", err)
		}
		held.Release()
	}
}

// parentInterval is how often the process checks whether its parent has ended, for which there is no portable event.
const parentInterval = 250 * time.Millisecond

// awaitParent returns when the parent has ended: it closed the standard input, if that is a pipe or a socket, or this
// process has another parent now. It also returns when ctx is done.
func awaitParent(ctx context.Context, in *os.File) {
	closed := make(chan struct{})
	if info, err := in.Stat(); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
		worker.Go(func() {
			_, _ = io.Copy(io.Discard, in) // any end is an end
			close(closed)
		})
	}
	parent := os.Getppid()
	tick := time.NewTicker(parentInterval)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-ctx.Done():
			return
		case <-closed:
			return
		case <-tick.C:
		}
	}
}
