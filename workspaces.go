package triplane

import (
	"context"
	"net"
	"net/http"

	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	authz "triplane.dev/generic/guard/authorization"
	authzconfig "triplane.dev/generic/guard/authorization/configuration"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/kubeapi/group"
	"triplane.dev/workspaces"
)

// nested is what distinguishes the chain of a workspace from the root chain.
type nested struct {
	workspaces.Inputs
	multiplexers []*cache.Multiplexer
}

// newWorkspaceManager returns the manager of workspaces; nil if they are disabled.
func newWorkspaceManager(o *Options, in opened) *workspaces.Manager {
	if !o.Workspaces.Enabled {
		return nil
	}
	return workspaces.NewManager(workspaces.Config{
		IdleTimeout: o.Workspaces.IdleTimeout, Wakes: wakes, Backend: in.store.Backend(), Prefix: o.Etcd.AbsolutePrefix(),
		Drop: func(name string) { in.store.DropBelow(workspaces.Path(name)) },
	})
}

// installWorkspaces serves the kind Workspace in the root chain.
func (f *foundation) installWorkspaces(s *server.GenericAPIServer) error {
	m := f.process.workspaces
	if m == nil || f.nested != nil {
		return nil
	}
	store, err := workspaces.Install(s, f.kinds.scheme, f.kinds.converter, func(name string) string {
		return "https://" + f.config.ExternalAddress + workspaces.URLPath(name)
	})
	m.SetStore(store)
	return err
}

// dispatchWorkspaces makes the filters of the root chain serve workspaces.
func (g *guards) dispatchWorkspaces(f *foundation, c *server.Config) {
	m := f.process.workspaces
	if m == nil {
		return
	}
	authn := f.options.Authentication
	c.Authentication = m.Authentication(c.Authentication,
		func(name string, lookups options.Lookups) authentication.Request {
			return authn.Nested(g.authn, workspaces.URLPath(name), lookups).Request
		})
	c.Authorization = m.Authorization(c.Authorization)
	given := c.BuildHandlerChain
	c.BuildHandlerChain = func(chain []filters.Filter) []filters.Filter {
		if given != nil {
			chain = given(chain)
		}
		return m.Filters(chain)
	}
	c.Metrics.MustRegister(m.Metrics())
}

// serveWorkspaces runs the manager of workspaces with the root chain.
func serveWorkspaces(f *foundation, g *guards, outermost *server.GenericAPIServer) error {
	m := f.process.workspaces
	if m == nil {
		return nil
	}
	m.SetCreate(func(in workspaces.Inputs) (*workspaces.Chain, error) { return newWorkspace(f, g, in) })
	return outermost.AddPostStartHook("start-workspaces", func(hook server.HookContext) error {
		hook.Go(m.Run)
		select {
		case <-m.Known():
			return nil
		case <-hook.Done():
			return hook.Err()
		}
	})
}

// newWorkspace creates the chain of a workspace with the constructors of the root chain.
func newWorkspace(root *foundation, shared *guards, in workspaces.Inputs) (*workspaces.Chain, error) {
	f := root.workspace(in)
	g, err := newWorkspaceGuards(f, shared)
	if err != nil {
		return nil, err
	}
	outermost, err := newServers(f, g)
	if err == nil {
		err = addControllers(f, g, outermost)
	}
	if err != nil {
		return nil, err
	}
	prepared := outermost.PrepareNested()
	outermost.Handler.NonGoRestfulMux.Unregister("/metrics/slis") // it describes the process, too
	return &workspaces.Chain{
		Handler: prepared, Run: prepared.Run, Ready: prepared.HooksDone(), Authentication: g.authn.Request,
		Authorizer: g.authorizers.Authorizer, Admits: g.admits, Lookups: f.lookups(),
	}, nil
}

// workspace returns the foundation of a workspace's chain.
func (f *foundation) workspace(in workspaces.Inputs) *foundation {
	w := *f
	w.stores, w.peer = group.NewStores(), nil
	storage, multiplexers := f.store.Below(workspaces.Path(in.Name))
	w.nested = &nested{in, multiplexers}
	w.config = f.workspaceConfig(in, f.process.workspaces.Quotas(in.Name, storage, multiplexers[0]))
	return &w
}

// workspaceConfig returns the configuration of a workspace's servers: that of the process, without what only the
// outermost chain has.
func (f *foundation) workspaceConfig(in workspaces.Inputs, storage registry.RESTOptionsGetter) *server.Config {
	c := *f.config
	c.Nested, c.Serving, c.Audit, c.FlowControl, c.Flags = true, nil, nil, nil, nil
	c.ShutdownDelayDuration, c.ShutdownSendRetryAfter, c.DebugSocketPath = 0, false, ""
	c.BuildHandlerChain, c.EnableProfiling, c.EnableLogs = nil, false, false
	c.Discovery, c.EnableDiscovery, c.RESTOptionsGetter = discovery.NewGroups(), true, storage
	c.OpenAPI = openapi.NewService(f.kinds.builder(c.Version))
	c.LoopbackClientConfig = restclient.CopyConfig(f.config.LoopbackClientConfig)
	c.LoopbackClientConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return inWorkspace{next, workspaces.URLPath(in.Name), in.Mark}
	})
	return &c
}

// inWorkspace sends the requests of a chain's own clients to the chain through the filters of the root chain.
type inWorkspace struct {
	next http.RoundTripper
	path string
	mark func(context.Context) context.Context
}

// RoundTrip implements http.RoundTripper.
func (t inWorkspace) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.WithContext(t.mark(r.Context()))
	u := *r.URL
	u.Path = t.path + u.Path
	if u.RawPath != "" {
		u.RawPath = t.path + u.RawPath
	}
	r.URL = &u
	return t.next.RoundTrip(r)
}

// newWorkspaceGuards creates the guards of a workspace. None of the root's authorizers decides in it: webhooks and
// policy files cannot distinguish workspaces.
func newWorkspaceGuards(f *foundation, shared *guards) (*guards, error) {
	g := &guards{authorization: newWorkspaceAuthorization(f),
		authn: f.options.Authentication.Nested(shared.authn, f.urlPath(), f.lookups())}
	var err error
	if g.services, err = newServices(f); err != nil {
		return nil, err
	}
	g.admission, err = newAdmission(f, g.authorization, g.services)
	return g, err
}

// newWorkspaceAuthorization returns the authorizers of a workspace: its administrators, Node and RBAC.
func newWorkspaceAuthorization(f *foundation) authorization {
	own := newAuthorizers(f.options.Kube.RuntimeConfig.Serves, f.options.Compatibility.Enabled)
	admins := workspaceAdmins{f.nested.Admin}
	all := &options.Authorizers{
		Authorizer:   authz.Union(authz.SystemMasters(), admins, own.node, own.rbac),
		RuleResolver: authz.RuleUnion(admins, own.rbac),
		Types:        []string{authzconfig.Node, authzconfig.RBAC},
	}
	return authorization{authorizers: all, inEffect: own.policyInEffect, startHook: own.startHook(true),
		admits: own.rbac.Admits}
}

// workspaceAdmins allows everything to the users of spec.admins.
type workspaceAdmins struct{ is func(*user.Info) bool }

// Authorize implements authorizer.Authorizer.
func (w workspaceAdmins) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.User != nil && w.is(a.User) {
		return authorizer.Allow, "an administrator of the workspace", nil
	}
	return authorizer.NoOpinion, "", nil
}

// RulesFor implements authorizer.RuleResolver.
func (w workspaceAdmins) RulesFor(ctx context.Context, u *user.Info, namespace string) (resource,
	nonResource []authorizer.Rule, incomplete bool, err error) {
	if !w.is(u) {
		return nil, nil, false, nil
	}
	return authz.AlwaysAllow{}.RulesFor(ctx, u, namespace)
}

// urlPath returns the path of the chain in URLs, "" for the root chain.
func (f *foundation) urlPath() string {
	if f.nested == nil {
		return ""
	}
	return workspaces.URLPath(f.nested.Name)
}

// issuer returns the issuer of service account tokens.
func (f *foundation) issuer() string {
	return f.options.Authentication.ServiceAccount.NestedIssuers(f.urlPath())[0]
}

// multiplexers returns the multiplexers of the chain's keys, the default one first.
func (f *foundation) multiplexers() []*cache.Multiplexer {
	if f.nested == nil {
		return f.store.Multiplexers()
	}
	return f.nested.multiplexers
}

// advertised returns the address that the chain publishes as an endpoint of its Service kubernetes; nil if none.
func (f *foundation) advertised() net.IP {
	if f.nested == nil {
		return f.options.advertised()
	}
	return nil
}
