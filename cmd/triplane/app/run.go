package app

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
	"k8s.io/klog/v2"

	"triplane/cmd/triplane/pki"
	"triplane/generic/egress"
	"triplane/generic/filters"
	"triplane/generic/flowcontrol"
	"triplane/generic/options"
	"triplane/generic/server"
	"triplane/generic/tracing"
	"triplane/internal/worker"
	"triplane/kubeapi/bootstrap"
)

// Server is a running server.
type Server struct {
	options    *Options
	prepared   *server.PreparedServer
	store      *store
	files      pki.Files // generated keys and certificates
	kubeconfig string

	stop context.CancelFunc
	done chan struct{}
	err  error // of Run; read after done
}

// Start builds a server and returns when it is ready (see HooksDone of
// server.PreparedServer). The server runs until Stop
// is called, or ctx ends, or it fails by itself.
func Start(ctx context.Context, o *Options) (*Server, error) {
	s, err := start(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// Run starts a server, prints where it is and notifies systemd, and serves until ctx ends. It
// returns nil after a shutdown that was asked for.
func Run(ctx context.Context, o *Options) error {
	begun := time.Now()
	s, err := start(ctx, o)
	if err != nil {
		return err
	}
	worker.Go(func() {
		if s.awaitReady(ctx) != nil {
			return
		}
		notifyReady(ctx)
		if o.Out != nil {
			s.greet(o.Out, time.Since(begun))
		}
	})
	return s.Wait()
}

// start builds a server and has it serve.
func start(ctx context.Context, given *Options) (_ *Server, err error) {
	o, err := given.complete()
	if err != nil {
		return nil, err
	}
	var undo cleanup
	defer func() {
		if err != nil {
			undo.run()
		}
	}()
	if o.needsDataDir() {
		held, err := holdDataDir(o.DataDir)
		if err != nil {
			return nil, err
		}
		undo.add(held.release)
	}
	listener, err := o.SecureServing.Listen(ctx)
	if err != nil {
		return nil, explainListen(err, o)
	}
	undo.add(func() { listener.Close() })

	selector, err := o.Egress.Load()
	if err != nil {
		return nil, err
	}
	undo.add(selector.Close)
	o.Etcd.Dial = selector.Etcd()
	st, files, err := openStoreAndKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	hubCtx, stopHub := context.WithCancel(context.Background())
	var hub worker.Group
	hub.Go(func() { st.run(hubCtx, o.Etcd.CompactionInterval) })
	undo.add(func() {
		stopHub()
		hub.Wait()
		st.close()
	})

	traces, err := o.Tracing.Load(ctx, o.externalHost())
	if err != nil {
		return nil, err
	}
	undo.add(func() { flushTraces(traces) })
	prepared, err := assemble(o, st, files, listener, selector, traces, &undo)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := o.adminKubeconfig(files, portOf(listener))
	if err != nil {
		return nil, err
	}
	runCtx, stop := context.WithCancel(ctx)
	s := &Server{options: o, prepared: prepared, store: st, files: files, kubeconfig: kubeconfig, stop: stop, done: make(chan struct{})}
	worker.Go(func() { s.run(runCtx, st, undo) })
	return s, nil
}

// run serves, and takes down what start has put up when it is over.
func (s *Server) run(ctx context.Context, st *store, undo cleanup) {
	defer close(s.done)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if st.failed != nil {
		worker.Go(func() {
			select {
			case <-st.failed:
				cancel(errors.New("the embedded etcd stopped"))
			case <-ctx.Done():
			}
		})
	}
	s.err = worker.Try(func() error { return s.prepared.Run(ctx) })
	if cause := context.Cause(ctx); s.err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		s.err = cause
	}
	undo.run()
}

// openStoreAndKeys does the two side by side: neither needs the other.
func openStoreAndKeys(ctx context.Context, o *Options) (*store, pki.Files, error) {
	type opened struct {
		store *store
		err   error
	}
	result := make(chan opened, 1)
	worker.Go(func() {
		var all opened
		all.err = worker.Try(func() (err error) {
			all.store, err = openStore(ctx, o.Etcd, o.DataDir, o.externalHost())
			return err
		})
		result <- all
	})
	files, err := o.ensureKeys()
	st := <-result
	if err != nil && st.store != nil {
		st.store.close()
	}
	return st.store, files, errors.Join(err, st.err)
}

// assemble makes the servers and prepares the outermost one. What it opens, undo closes.
func assemble(o *Options, st *store, files pki.Files, listener net.Listener, selector *egress.Selector, traces *tracing.Provider, undo *cleanup) (*server.PreparedServer, error) {
	c := server.NewConfig()
	c.Tracing = traces
	o.ServerRun.ApplyTo(c)
	if err := o.Features.ApplyTo(c); err != nil {
		return nil, err
	}
	o.Compatibility.ApplyTo(c)
	o.Ignored.Note()
	if o.flags != nil && o.Compatibility.Enabled("ComponentFlagz") {
		c.Flags = o.flagValues
	}
	var err error
	if c.Serving, err = o.SecureServing.Serving(listener, server.CertificateFiles{CertFile: files.ServingCert, KeyFile: files.ServingKey}); err != nil {
		return nil, err
	}
	c.ExternalAddress = net.JoinHostPort(o.externalHost(), strconv.Itoa(portOf(listener)))
	if err := st.installIn(c, o.Etcd); err != nil {
		return nil, err
	}
	stored := newObjects(c.RESTOptionsGetter)
	c.RESTOptionsGetter = stored
	if err := c.Metrics.RegisterGates(o.Compatibility.Stages(), o.Compatibility.Enabled); err != nil {
		return nil, err
	}
	c.Metrics.MustRegister(&storageMetrics{
		objects: stored, clusters: st.clusters(), countsHold: o.Etcd.CountPollPeriod, sizesHold: o.Etcd.SizePollInterval,
	})
	c.FlowControl = flowControl(o.ServerRun, stored)

	c.Metrics.MustRegister(selector.Collectors()...)

	p, err := newParts(o, st, files, c, selector, undo)
	if err != nil {
		return nil, err
	}
	if err := o.Audit.ApplyTo(c, selector); err != nil {
		return nil, err
	}
	outermost, err := p.build()
	if err != nil {
		if c.Audit != nil {
			c.Audit.Close(context.Background()) // nothing was recorded
		}
		return nil, err
	}
	if st.snapshots != nil {
		// Who may read it holds all Secrets: no role but the administrator's has it.
		outermost.Handler.NonGoRestfulMux.UnlistedHandle(filters.SnapshotPath, st.snapshots)
	}
	var prepared *server.PreparedServer
	if err := p.makeControllers(outermost, func() <-chan struct{} { return prepared.HooksDone() }); err != nil {
		return nil, err
	}
	prepared = outermost.PrepareRun()
	return prepared, nil
}

// flushWithin bounds how long the last spans may take, at the end.
const flushWithin = 5 * time.Second

// flushTraces exports the last spans; nil has none.
func flushTraces(p *tracing.Provider) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		klog.InfoS("The last spans were not exported", "err", err)
	}
}

// flowControl queues requests by the default objects until the stored ones are
// known; nil where requests in flight are limited instead.
func flowControl(o *options.ServerRun, stored flowcontrol.Objects) *flowcontrol.Controller {
	if !o.EnablePriorityAndFairness {
		return nil
	}
	return flowcontrol.New(flowcontrol.Config{
		Reads: o.MaxRequestsInFlight, Writes: o.MaxMutatingRequestsInFlight,
		Schemas: bootstrap.FlowSchemas(), Levels: bootstrap.PriorityLevels(), Objects: stored,
	})
}

func (o *Options) externalHost() string {
	if o.ServerRun.ExternalHost != "" {
		return o.ServerRun.ExternalHost
	}
	return o.ServerRun.AdvertiseAddress.String()
}

// awaitReady returns when all post-start hooks have returned: from then on /readyz
// passes, as long as etcd answers.
func (s *Server) awaitReady(ctx context.Context) error {
	select {
	case <-s.prepared.HooksDone():
		return nil
	case <-s.done:
		return errors.Join(errors.New("the server stopped before it was ready"), s.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) greet(out io.Writer, took time.Duration) {
	o := s.options
	var b strings.Builder
	defer func() { _, _ = io.WriteString(out, b.String()) }() // who reads it may have gone
	fmt.Fprintf(&b, "Triplane serves the Kubernetes API on %s (ready after %v)\n", s.url(), took.Round(time.Millisecond))
	if o.Etcd.Embedded() {
		fmt.Fprintf(&b, "  data        %s\n", o.DataDir)
	} else {
		fmt.Fprintf(&b, "  etcd        %v\n", o.Etcd.Servers)
	}
	if s.kubeconfig == "" {
		return
	}
	fmt.Fprintf(&b, "  kubeconfig  %s\n\nTry it:\n  export KUBECONFIG=%s\n  kubectl get namespaces\n", s.kubeconfig, s.kubeconfig)
}

// url is where a browser on this machine finds the server: a wildcard address is
// none that can be connected to.
func (s *Server) url() string {
	host := net.JoinHostPort(s.options.localHost(), strconv.Itoa(s.prepared.Config().Serving.Port()))
	return "https://" + host
}

// Address is the host:port that the server listens on.
func (s *Server) Address() string { return s.prepared.Config().Serving.Address() }

// Kubeconfig is the path of the administrator's kubeconfig; "" where the client
// authority was given by a flag.
func (s *Server) Kubeconfig() string { return s.kubeconfig }

// ClientConfig is a privileged client configuration that calls the server's
// handlers without a socket. It works in this process only.
func (s *Server) ClientConfig() *restclient.Config {
	return restclient.CopyConfig(s.prepared.LoopbackClientConfig)
}

// AdminConfig is the client configuration of the administrator's kubeconfig,
// over TLS.
func (s *Server) AdminConfig() (*restclient.Config, error) {
	return clientcmd.BuildConfigFromFlags("", s.kubeconfig)
}

// UserConfig is the client configuration, over TLS, of a user in groups, who is known by a
// certificate of the generated authority. There is none where that is not the authority of
// clients.
func (s *Server) UserConfig(name string, groups ...string) (*restclient.Config, error) {
	if s.kubeconfig == "" {
		return nil, errors.New("clients are not known by certificates of the generated authority")
	}
	config, err := s.AdminConfig()
	if err != nil {
		return nil, err
	}
	config.CertData, config.KeyData, err = pki.NewClient(s.files, name, groups...)
	return config, err
}

// Stop shuts the server down gracefully and waits for the end.
func (s *Server) Stop() error {
	s.stop()
	return s.Wait()
}

// Wait returns when the server has ended: nil after a shutdown that was asked
// for.
func (s *Server) Wait() error {
	<-s.done
	return s.err
}

func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
