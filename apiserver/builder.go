package apiserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/run/coreplugins"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/serve/apigroups"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/server"
)

// builder builds a server step by step. undo closes what it opens.
type builder struct {
	server  *Server
	options *Options
	api     *apigroups.API
	undo    host.Cleanup

	listener net.Listener
	keys     host.Keys
	store    *host.Store
	egress   *egress.Selector // nil connects directly
	config   *server.Config
	core     *restclient.Config // of clients of the core API server; nil for a standalone server
}

func (b *builder) openStore(ctx context.Context) (err error) {
	o := b.options
	if b.egress, err = o.Egress.Load(); err != nil {
		return err
	}
	b.undo.Add(b.egress.Close)
	o.Etcd.Dial = b.egress.Etcd()
	if b.store, err = host.OpenStore(ctx, o.Etcd, o.DataDir, b.address()); err != nil {
		return err
	}
	b.undo.Add(b.store.Start(o.Etcd.CompactionInterval))
	return nil
}

// address returns the host:port that is published to clients.
func (b *builder) address() string {
	run := b.options.ServerRun
	name := run.ExternalHost
	if name == "" && run.AdvertiseAddress != nil {
		name = run.AdvertiseAddress.String()
	}
	return net.JoinHostPort(cmp.Or(name, host.LocalHost(b.options.SecureServing.BindAddress)),
		strconv.Itoa(host.Port(b.listener)))
}

// configure creates the server's configuration.
func (b *builder) configure(ctx context.Context) error {
	o, c := b.options, server.NewConfig()
	b.config = c
	o.ServerRun.ApplyTo(c)
	if err := o.Features.ApplyTo(c); err != nil {
		return err
	}
	c.Version, c.Flags, c.ExternalAddress = b.server.version(), o.line.Values(), b.address()
	traces, err := o.Tracing.Load(ctx, b.server.Name)
	if err != nil {
		return err
	}
	c.Tracing = traces
	b.undo.Add(func() { host.FlushTraces(traces) })
	if c.Serving, err = o.SecureServing.Serving(b.listener, b.keys.Serving); err != nil {
		return err
	}
	objects, err := b.store.InstallIn(c, o.Etcd)
	if err != nil {
		return err
	}
	c.Metrics.MustRegister(b.egress.Collectors()...)
	c.ReadyChecks = append(c.ReadyChecks, healthz.NamedCheck("informer-sync", b.store.Following))
	c.OpenAPI = openapi.NewService(openapi.NewBuilderFor(b.api.Schemas, b.api.Scheme,
		cmp.Or(b.server.Title, b.server.Name), c.Version.Major+"."+c.Version.Minor))
	for _, step := range []func(context.Context) error{b.authenticate, b.authorize} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.FlowControl = o.ServerRun.FlowControl(objects)
	return coreplugins.Install(coreplugins.Config{Options: o.Admission, Core: b.core, Own: b.server.Plugins, Server: c})
}

// authenticate creates the authenticators: the core API server, or the generated CA.
func (b *builder) authenticate(ctx context.Context) error {
	c := b.config
	if b.options.Standalone {
		ca, err := authentication.NewCABundle(b.keys.Files.CACert)
		if err != nil {
			return err
		}
		c.Authentication = authentication.UnionFailFirst(authentication.AuthenticatedGroup(authentication.X509(ca,
			true)), authentication.Anonymous())
		c.Serving.CurrentClientCAs = authentication.UnionPool(ca)
		return nil
	}
	authn, err := b.options.Authentication.Build(ctx)
	if errors.Is(err, restclient.ErrNotInCluster) {
		return fmt.Errorf("%w; --standalone serves without a core API server", err)
	}
	if err != nil {
		return err
	}
	b.undo.Add(func() { _ = authn.Close() }) // of idle connections
	c.Authentication, c.Serving.CurrentClientCAs = authn.Request, authn.Authorities
	c.RunInBackground("start-cluster-authentication-info", authn.Background())
	b.core, err = b.options.Core.Config()
	return err
}

// authorize creates the authorizer: the core API server, or one that allows only administrators.
func (b *builder) authorize(context.Context) (err error) {
	if b.options.Standalone {
		b.config.Authorization = authorization.Union(authorization.SystemMasters(),
			authorization.Paths(b.options.Authorization.AlwaysAllowPaths))
		return nil
	}
	b.config.Authorization, err = b.options.Authorization.Build(b.config.Metrics.Registry)
	return err
}

// build creates the server and prepares it.
func (b *builder) build(context.Context) (_ *server.PreparedServer, err error) {
	if b.config.Audit, err = b.options.Audit.Build(audit.NewMetrics(b.config.Metrics), b.egress); err != nil {
		return nil, err
	}
	s, err := b.install()
	if err != nil {
		if b.config.Audit != nil {
			b.config.Audit.Close(context.Background()) // nothing was recorded
		}
		return nil, err
	}
	return s.PrepareRun(), nil
}

func (b *builder) install() (*server.GenericAPIServer, error) {
	s, err := b.config.Complete().New(b.server.Name, server.EmptyDelegate())
	if err != nil {
		return nil, err
	}
	if err := b.api.Install(b.server.Name, s); err != nil {
		return nil, err
	}
	if b.server.Install == nil {
		return s, nil
	}
	return s, b.server.Install(s)
}
