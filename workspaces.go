package triplane

import (
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/guard/authentication"
	authz "triplane.dev/generic/guard/authorization"
	authzconfig "triplane.dev/generic/guard/authorization/configuration"
	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/kubeapi/group"
	"triplane.dev/workspaces"
)

// newWorkspaceManager returns the manager of workspaces; nil if they are disabled.
func newWorkspaceManager(o *Options, in opened) *workspaces.Manager {
	if !o.Workspaces.Enabled {
		return nil
	}
	return workspaces.NewManager(workspaces.Config{
		IdleTimeout: o.Workspaces.IdleTimeout, Backend: in.store.Backend(), Prefix: o.Etcd.AbsolutePrefix(),
		Drop: in.store.DropBelow, Alone: !o.Etcd.MayHaveReplicas(),
	})
}

// installWorkspaces serves the kind Workspace in the root chain.
func (f *foundation) installWorkspaces(s *server.GenericAPIServer) error {
	m := f.process.workspaces
	if m == nil || f.nested != nil {
		return nil
	}
	address := f.config.ExternalAddress
	if o := f.options; o.ServerRun.ExternalHost == "" && o.SecureServing.BindAddress.IsLoopback() {
		address = f.config.Serving.Address() // clients cannot connect to the advertised address
	}
	return m.Install(s, f.kinds.scheme, f.kinds.converter, func(name string) string {
		return "https://" + address + workspaces.URLPath(name)
	})
}

// dispatchWorkspaces makes the filters of the root chain serve workspaces.
func (g *guards) dispatchWorkspaces(f *foundation, c *server.Config) {
	m := f.process.workspaces
	if m == nil {
		return
	}
	authn := f.options.Authentication
	c.Authentication = m.Authentication(c.Authentication,
		func(name string, lookups authoptions.Lookups) authentication.Request {
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
	f.process.defaults = newDefaults(f, g)
	m.SetCreate(func(in workspaces.Inputs) (*workspaces.Chain, error) { return newWorkspace(f, g, in) },
		func() (*workspaces.Reader, error) { return newReader(f, g) })
	return outermost.AddPostStartHook("start-workspaces", m.Start)
}

// newWorkspace creates the chain of a workspace with the constructors of the root chain.
func newWorkspace(root *foundation, shared *guards, in workspaces.Inputs) (*workspaces.Chain, error) {
	defaults, err := root.process.defaults()
	if err != nil {
		return nil, err
	}
	own, err := defaults.Of(&in)
	if err != nil {
		return nil, err
	}
	stored, keys := root.store.Below(in.Path, own)
	f := root.nest(in, keys, root.process.workspaces.Writes(&in, stored, keys))
	g, outermost, err := newNested(f, shared)
	if err != nil {
		return nil, err
	}
	running, err := addControllers(f, g, outermost)
	if err != nil {
		return nil, err
	}
	prepared := outermost.PrepareNested()
	return &workspaces.Chain{
		Handler: prepared, Run: prepared.Run, Ready: prepared.HooksDone(), Authentication: g.authn.Request,
		Authorizer: g.authorizers.Authorizer, Admits: g.admits, Lookups: f.lookups(), Due: running.Due,
		Loopback: f.config.LoopbackClientConfig,
	}, nil
}

// newReader creates the chain that reads the resources of all workspaces. None of its hooks runs, and it serves only
// lists and watches.
func newReader(root *foundation, shared *guards) (*workspaces.Reader, error) {
	m := root.process.workspaces
	keys := cache.NewMultiplexer(m.Merged(), root.options.Etcd.AbsolutePrefix())
	_, outermost, err := newNested(root.nest(workspaces.Inputs{Name: workspaces.All}, keys,
		root.store.Through(keys, m.MergedView)), shared)
	if err != nil {
		return nil, err
	}
	return &workspaces.Reader{Chain: outermost.PrepareNested(), Run: keys.Run}, nil
}

// newNested creates the guards and servers of a nested chain.
func newNested(f *foundation, shared *guards) (*guards, *server.GenericAPIServer, error) {
	g, err := newWorkspaceGuards(f, shared)
	if err != nil {
		return nil, nil, err
	}
	outermost, err := newServers(f, g)
	return g, outermost, err
}

// nest returns the foundation of a nested chain, whose keys are those of a multiplexer.
func (f *foundation) nest(in workspaces.Inputs, keys *cache.Multiplexer, o registry.RESTOptionsGetter) *foundation {
	w := *f
	w.stores, w.peer = group.NewStoresLike(f.stores.Outline()), nil
	w.nested, w.multiplexers = &in, []*cache.Multiplexer{keys}
	w.config = in.ServerConfig(f.config, o, f.config.OpenAPI.Nested(workspaces.Documents))
	return &w
}

// newWorkspaceGuards creates the guards of a workspace. None of the root's authorizers decides in it: webhooks and
// policy files cannot distinguish workspaces.
func newWorkspaceGuards(f *foundation, shared *guards) (*guards, error) {
	defaults, err := f.process.defaults()
	if err != nil {
		return nil, err
	}
	g := &guards{authorization: newWorkspaceAuthorization(f, defaults.Policy.Over()),
		authn: f.options.Authentication.Nested(shared.authn, f.urlPath(), f.lookups())}
	if g.services, err = newServices(f); err != nil {
		return nil, err
	}
	g.admission, err = newAdmission(f, g.authorization, g.services)
	return g, err
}

// newWorkspaceAuthorization returns the authorizers of a workspace: its administrators, Node and RBAC.
func newWorkspaceAuthorization(f *foundation, policy *rbac.Authorizer) authorization {
	own := newAuthorizers(f.stores, policy, f.options)
	admins := workspaces.Admins(f.nested.Admin)
	all := &authoptions.Authorizers{
		Authorizer: authz.Union(authz.SystemMasters(), admins, authz.Named("node", own.node),
			authz.Named("rbac", own.rbac)),
		RuleResolver: authz.RuleUnion(admins, own.node.Authorizer, own.rbac),
		Types:        []string{authzconfig.Node, authzconfig.RBAC},
	}
	return authorization{authorizers: all, inEffect: own.policyInEffect, startHook: own.startHook(true),
		admits: own.rbac.Admits}
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
