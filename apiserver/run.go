package apiserver

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/version"
	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/apigroups"
	"triplane.dev/generic/serve/server"
	"triplane.dev/internal/worker"
)

// Main is the main function of a server program. It parses the command line, runs the server until a termination
// signal, and exits with 1 on an error.
func Main(s Server) {
	if err := command(&s, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
		os.Exit(1)
	}
}

func command(s *Server, args []string) error {
	o := NewOptions(s)
	o.Out = os.Stdout
	usage := cmp.Or(s.Usage, s.Name+" is an extension API server of Kubernetes.\n")
	line, err := (&host.Command{Name: s.Name, Usage: usage, Title: s.Name, Version: s.version(),
		Flags: o.Flags()}).Parse(args, o.Out)
	if line == nil || err != nil {
		return err
	}
	o.line = line
	if err := o.Validate(); err != nil {
		return err
	}
	if err := line.ApplyLogging(func(string) bool { return false }); err != nil {
		return err
	}
	return host.UntilSignal(func(ctx context.Context) error { return Run(ctx, s, o) })
}

func (s *Server) version() *version.Info {
	if s.Version != nil {
		return s.Version
	}
	return server.DefaultVersion()
}

// Running is a running server.
type Running struct {
	running    *host.Running
	kubeconfig string
}

// Run starts a server, prints its URL, notifies systemd, and serves until ctx is done. It returns nil after a
// regular shutdown.
func Run(ctx context.Context, s *Server, o *Options) error {
	begun := time.Now()
	r, err := start(ctx, s, o)
	if err != nil {
		return err
	}
	worker.Go(func() {
		if r.running.AwaitReady(ctx) != nil {
			return
		}
		host.NotifyReady(ctx)
		if o.Out != nil {
			r.printStart(o.Out, s.Name, time.Since(begun))
		}
	})
	return r.Wait()
}

// Start starts a server and returns when it is ready. It runs until Stop is called, ctx is done, or it fails.
// Several servers can run in one process.
func Start(ctx context.Context, s *Server, o *Options) (*Running, error) {
	r, err := start(ctx, s, o)
	if err != nil {
		return nil, err
	}
	if err := r.running.AwaitReady(ctx); err != nil {
		if stopped := r.Stop(); stopped != nil {
			err = stopped
		}
		return nil, err
	}
	return r, nil
}

// Address returns the host:port that the server listens on.
func (r *Running) Address() string { return r.running.Config().Serving.Address() }

// ClientConfig returns a privileged client configuration that calls the server's handlers without a socket. It
// works only in this process.
func (r *Running) ClientConfig() *restclient.Config {
	return restclient.CopyConfig(r.running.LoopbackClientConfig)
}

// Kubeconfig returns the path of the administrator's kubeconfig with Options.Standalone; "" otherwise.
func (r *Running) Kubeconfig() string { return r.kubeconfig }

// Stop shuts the server down gracefully and waits until it has stopped.
func (r *Running) Stop() error { return r.running.Stop() }

// Wait returns when the server has stopped: nil after a regular shutdown.
func (r *Running) Wait() error { return r.running.Wait() }

func (r *Running) printStart(out io.Writer, name string, took time.Duration) {
	text := fmt.Sprintf("%s serves on https://%s (ready after %v)\n", name, r.Address(), took.Round(time.Millisecond))
	if r.kubeconfig != "" {
		text += fmt.Sprintf("  kubectl --kubeconfig %s api-resources\n", r.kubeconfig)
	}
	_, _ = io.WriteString(out, text) // the reader may be closed
}

// start builds a server and starts serving.
func start(ctx context.Context, s *Server, given *Options) (_ *Running, err error) {
	o, err := given.complete()
	if err != nil {
		return nil, err
	}
	b := &builder{server: s, options: o}
	defer func() {
		if err != nil {
			b.undo.Run()
		}
	}()
	if b.api, err = apigroups.New(s.Groups); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{b.listen, b.openStore, b.configure} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	prepared, err := b.build(ctx)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := b.kubeconfig()
	if err != nil {
		return nil, err
	}
	return &Running{running: host.Run(ctx, prepared, b.store, b.undo), kubeconfig: kubeconfig}, nil
}

// listen locks the data directory, opens the listener, and generates missing keys.
func (b *builder) listen(ctx context.Context) error {
	o := b.options
	if o.needsDataDir() {
		held, err := host.LockDataDir(o.DataDir)
		if err != nil {
			return err
		}
		b.undo.Add(held.Release)
	}
	var err error
	if b.listener, err = host.Listen(ctx, o.SecureServing); err != nil {
		return err
	}
	b.undo.Add(func() { b.listener.Close() })
	b.keys, err = host.EnsureKeys(filepath.Join(o.DataDir, "pki"), o.SecureServing, o.ServerRun, o.Standalone)
	return err
}

// kubeconfig writes the administrator's kubeconfig of a standalone server.
func (b *builder) kubeconfig() (string, error) {
	if !b.options.Standalone {
		return "", nil
	}
	path := filepath.Join(b.options.DataDir, "admin.kubeconfig")
	return path, b.keys.WriteKubeconfig(path, b.server.Name, "https://"+net.JoinHostPort(
		host.LocalHost(b.options.SecureServing.BindAddress), strconv.Itoa(host.Port(b.listener))))
}
