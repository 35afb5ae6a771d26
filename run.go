package triplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/console"
	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/controllers"
	"triplane.dev/kubeapi/manifests"
)

// Server is a running server.
type Server struct {
	options    *Options
	running    *host.Running
	store      *host.Store
	files      pki.Files // generated keys and certificates
	kubeconfig string
	// checkpoints are always available to the program; CheckpointsPath serves them only with Testing.Checkpoints.
	checkpoints *checkpoints
	manifests   *manifests.Applier // nil without --manifests
}

// Start starts a server and returns when it is ready (see HooksDone of server.PreparedServer). The server runs
// until Stop is called, ctx is done, or it fails.
func Start(ctx context.Context, o *Options) (*Server, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.running.AwaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Run starts a server, prints its URL, notifies systemd, and serves until ctx is done. It returns nil after a
// regular shutdown.
func Run(ctx context.Context, o *Options) error {
	begun := time.Now()
	s, err := start(ctx, o)
	if err != nil {
		return err
	}
	worker.Go(func() {
		if s.running.AwaitReady(ctx) != nil {
			return
		}
		host.NotifyReady(ctx)
		if o.Out != nil {
			s.printStart(o.Out, time.Since(begun))
		}
	})
	return s.Wait()
}

// start builds a server and starts serving.
func start(ctx context.Context, given *Options) (_ *Server, err error) {
	o, err := given.complete()
	if err != nil {
		return nil, err
	}
	var undo host.Cleanup
	defer func() {
		if err != nil {
			undo.Run()
		}
	}()
	if o.needsDataDir() {
		held, err := host.LockDataDir(o.DataDir)
		if err != nil {
			return nil, err
		}
		undo.Add(held.Release)
	}
	if err := o.join(ctx); err != nil {
		return nil, err
	}
	listener, err := host.Listen(ctx, o.SecureServing)
	if err != nil {
		return nil, err
	}
	undo.Add(func() { listener.Close() })

	selector, err := o.Egress.Load()
	if err != nil {
		return nil, err
	}
	undo.Add(selector.Close)
	o.Etcd.Dial, o.Etcd.KMSv1 = selector.Etcd(), o.Compatibility.Enabled("KMSv1")
	o.Etcd.Member.Release = host.EtcdRelease(o.Compatibility.MinCompatibility())
	if o.Etcd.VerifyStore {
		o.Etcd.Value = kubeapi.NewValueCheck()
	}
	st, files, err := openStoreAndKeys(ctx, o, listener)
	if err != nil {
		return nil, err
	}
	undo.Add(st.Start(o.Etcd.CompactionInterval))
	traces, err := o.loadTracing(ctx)
	if err != nil {
		return nil, err
	}
	undo.Add(func() { host.FlushTraces(traces) })
	f, err := newFoundation(o, opened{listener: listener, store: st, files: files, egress: selector, traces: traces})
	if err != nil {
		return nil, err
	}
	prepared, err := assemble(ctx, f, &undo)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := o.adminKubeconfig(files, host.Port(listener))
	if err != nil {
		return nil, err
	}
	return &Server{options: o, running: host.Run(ctx, prepared, st, undo), store: st, files: files,
		kubeconfig: kubeconfig, checkpoints: f.checkpoints,
		manifests: f.manifests}, nil
}

// loadTracing returns the exporter of spans; nil if tracing is disabled.
func (o *Options) loadTracing(ctx context.Context) (*tracing.Provider, error) {
	return o.Tracing.Load(ctx, o.externalHost())
}

// storeWithin is how long requests wait for storage to open before the response is 503. Opening waits for other
// members of the cluster, or for etcd.
const storeWithin = time.Second

// openStoreAndKeys opens storage and keys concurrently, because they are independent.
func openStoreAndKeys(ctx context.Context, o *Options, listener net.Listener) (*host.Store, pki.Files, error) {
	type opened struct {
		store *host.Store
		err   error
	}
	result := make(chan opened, 1)
	worker.Go(func() {
		var all opened
		all.err = worker.Try(func() (err error) {
			all.store, err = host.OpenStore(ctx, o.Etcd, o.DataDir, o.externalHost())
			return err
		})
		result <- all
	})
	files, err := o.ensureKeys()
	var st opened
	select {
	case st = <-result:
	case <-time.After(storeWithin):
		stop := o.unavailable(listener, files, err)
		st = <-result
		stop()
	}
	if err != nil && st.store != nil {
		st.store.Close()
	}
	return st.store, files, errors.Join(err, st.err)
}

// unavailable makes the listener respond 503 until stop is called. It does nothing if err is set, because the keys
// are missing.
func (o *Options) unavailable(listener net.Listener, files pki.Files, err error) (stop func()) {
	if err != nil {
		return func() {} // err ends the start
	}
	serving, err := o.SecureServing.Serving(listener, files.Serving())
	if err != nil {
		return func() {} // the start fails with the same error
	}
	return serving.ServeUnavailable("the server is starting and waits for its storage")
}

func (o *Options) externalHost() string {
	if o.ServerRun.ExternalHost != "" {
		return o.ServerRun.ExternalHost
	}
	return o.ServerRun.AdvertiseAddress.String()
}

func (s *Server) printStart(out io.Writer, took time.Duration) {
	o := s.options
	var b strings.Builder
	defer func() { _, _ = io.WriteString(out, b.String()) }() // the reader may be closed
	fmt.Fprintf(&b, "Triplane serves the Kubernetes API on %s (ready after %v)\n", s.url(),
		took.Round(time.Millisecond))
	if o.Etcd.Embedded() {
		fmt.Fprintf(&b, "  data        %s\n", o.DataDir)
		if peer := s.store.EtcdClient(); peer != "" {
			fmt.Fprintf(&b, "  etcd        %s\n", peer)
		}
	} else {
		fmt.Fprintf(&b, "  store       %v\n", o.Etcd.Servers)
	}
	if o.console() {
		fmt.Fprintf(&b, "  console     %s%s\n", s.url(), console.Path)
	}
	if s.kubeconfig == "" {
		return
	}
	fmt.Fprintf(&b, "  kubeconfig  %s\n\nTry it:\n  export KUBECONFIG=%s\n  kubectl get namespaces\n", s.kubeconfig,
		s.kubeconfig)
}

// url returns the URL for local browsers, which cannot connect to a wildcard address.
func (s *Server) url() string {
	host := net.JoinHostPort(s.options.localHost(), strconv.Itoa(s.running.Config().Serving.Port()))
	return "https://" + host
}

// Address returns the host:port that the server listens on.
func (s *Server) Address() string { return s.running.Config().Serving.Address() }

// Kubeconfig returns the path of the administrator's kubeconfig; "" with --client-ca-file.
func (s *Server) Kubeconfig() string { return s.kubeconfig }

// AwaitDefaultAccount returns when the namespace default has its service account, which pods require. It returns at
// once if no enabled controller creates it.
func (s *Server) AwaitDefaultAccount(ctx context.Context) error {
	return controllers.AwaitDefaultAccount(ctx, s.ClientConfig(), s.options.Controllers.Selection)
}

// ClientConfig returns a privileged client configuration that calls the server's handlers without a socket. It
// works only in this process.
func (s *Server) ClientConfig() *restclient.Config {
	return restclient.CopyConfig(s.running.LoopbackClientConfig)
}

// AdminConfig returns the client configuration of the administrator's kubeconfig, over TLS.
func (s *Server) AdminConfig() (*restclient.Config, error) {
	return clientcmd.BuildConfigFromFlags("", s.kubeconfig)
}

// UserConfig returns a client configuration, over TLS, of a user in groups, with a certificate of the generated
// CA. It returns an error with --client-ca-file.
func (s *Server) UserConfig(name string, groups ...string) (*restclient.Config, error) {
	if s.kubeconfig == "" {
		return nil, errors.New("--client-ca-file is set, so clients are not authenticated by the generated CA")
	}
	config, err := s.AdminConfig()
	if err != nil {
		return nil, err
	}
	config.CertData, config.KeyData, err = pki.NewClient(s.files, name, groups...)
	return config, err
}

// Stop shuts the server down gracefully and waits until it has stopped.
func (s *Server) Stop() error { return s.running.Stop() }

// Wait returns when the server has stopped: nil after a regular shutdown.
func (s *Server) Wait() error { return s.running.Wait() }
