package coreplugins

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	coreclient "k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/generic/guard/admission/configured"
	"triplane.dev/generic/guard/admission/lifecycle"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/server"
)

// Names of the admission plugins of all servers.
const (
	namespaceLifecycle = "NamespaceLifecycle"
	mutatingPolicies   = "MutatingAdmissionPolicy"
	mutatingWebhooks   = "MutatingAdmissionWebhook"
	validatingPolicies = "ValidatingAdmissionPolicy"
	validatingWebhooks = "ValidatingAdmissionWebhook"
)

// Names returns the names of all plugins in their order, and of those that are enabled by default. own are the
// server's.
func Names(own []admission.Plugin) (known, byDefault []string) {
	known, byDefault = []string{namespaceLifecycle}, []string{namespaceLifecycle}
	for _, p := range own {
		known = append(known, p.Name)
		if p.OnByDefault {
			byDefault = append(byDefault, p.Name)
		}
	}
	followed := []string{mutatingPolicies, mutatingWebhooks, validatingPolicies, validatingWebhooks}
	return append(known, followed...), append(byDefault, followed...)
}

// Config configures the admission of a server.
type Config struct {
	Options *options.Admission
	// Core configures clients of the core API server; nil leaves the server its own plugins.
	Core *restclient.Config
	// Own are the server's plugins. They run after NamespaceLifecycle, before webhooks and policies.
	Own []admission.Plugin
	// Server is completed with the chain of plugins, and what runs and reports on them.
	Server *server.Config
}

// plugins creates the admission plugins of a server.
type plugins struct {
	Config
	// The following read and watch the core API server; nil for a standalone server.
	discovery  coreclient.DiscoveryInterface
	live       corev1client.NamespacesGetter
	remote     func() *informers.Remote
	informers  *informers.Remote
	namespaces cache.Indexer
	configured *configured.Plugins
	documents  *configuration.Plugins
	work       []func(context.Context) // of the server's own plugins
	metrics    *admission.Metrics
}

// Install creates the chain of admission plugins.
func Install(c Config) error {
	p := &plugins{Config: c, metrics: admission.NewMetrics(c.Server.Metrics.Registry)}
	enabled := c.Options.Enabled()
	var err error
	if p.documents, err = configuration.Read(c.Options.ConfigFile, enabled); err != nil {
		return err
	}
	if c.Core != nil {
		if err := p.follow(); err != nil {
			return err
		}
	}
	var chain []admission.Named
	for _, name := range enabled {
		plugin, err := p.plugin(name)
		if err != nil {
			return fmt.Errorf("couldn't init admission plugin %q: %w", name, err)
		}
		if plugin != nil {
			chain = append(chain, admission.Named{Name: name, Plugin: plugin})
		}
	}
	c.Server.Admission = admission.NewChain(p.metrics, chain...)
	c.Server.PostStartHooks = append(c.Server.PostStartHooks,
		server.PostStartHook{Name: "start-apiserver-admission-initializer", Func: p.start})
	return nil
}

// follow creates the informers of the core API server.
func (p *plugins) follow() error {
	config := restclient.CopyConfig(p.Core)
	var err error
	if p.discovery, err = coreclient.NewDiscoveryClientForConfig(config); err != nil {
		return err
	}
	if p.live, err = corev1client.NewForConfig(config); err != nil {
		return err
	}
	lists, err := informers.ListerWatchers(config)
	if err != nil {
		return err
	}
	p.remote = func() *informers.Remote { return informers.NewRemote(lists) }
	p.informers = p.remote()
	p.namespaces = p.informers.InformerFor(&corev1.Namespace{}).GetIndexer()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(p.discovery))
	p.configured = configured.New(configured.Config{
		Namespaces: p.namespace, Authorizer: p.Server.Authorization, Metrics: p.metrics,
		Params: configured.NewParams(configured.Mapped(mapper), client),
	})
	p.Server.ReadyChecks = append(p.Server.ReadyChecks, healthz.NamedCheck("admission-configurations",
		p.configured.Following))
	return nil
}

// plugin creates a plugin; nil if it has no effect on this server.
func (p *plugins) plugin(name string) (admission.Interface, error) {
	raw, err := p.documents.For(name)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.Own, func(own admission.Plugin) bool { return own.Name == name }); i >= 0 {
		return p.Own[i].New(admission.Needs{
			Core: p.Core, Loopback: p.Server.LoopbackClientConfig,
			Authorizer:    p.Server.Authorization,
			Configuration: raw, Go: func(work func(context.Context)) { p.work = append(p.work, work) },
		})
	}
	if p.Core == nil {
		return nil, nil
	}
	switch name {
	case namespaceLifecycle:
		return lifecycle.New(p.namespace), nil
	case mutatingPolicies:
		return p.configured.MutatingPolicies(raw)
	case validatingPolicies:
		return p.configured.ValidatingPolicies(raw)
	case mutatingWebhooks:
		return p.configured.MutatingWebhooks(raw)
	}
	return p.configured.ValidatingWebhooks(raw)
}

// start runs the informers and the work of plugins until the server stops.
func (p *plugins) start(hook server.HookContext) error {
	for _, work := range p.work {
		hook.Go(work)
	}
	if p.Core == nil {
		return nil
	}
	mutating := configured.MutatingVersion(p.coreServes)
	hook.Go(func(ctx context.Context) {
		p.configured.Follow(ctx, p.remote(), mutating)
	})
	if flow := p.Server.FlowControl; flow != nil {
		schemas := p.informers.InformerFor(&flowcontrolv1.FlowSchema{})
		levels := p.informers.InformerFor(&flowcontrolv1.PriorityLevelConfiguration{})
		hook.Go(flow.Run)
		hook.Go(func(ctx context.Context) { flow.Follow(ctx, schemas, levels) })
	}
	hook.Go(func(ctx context.Context) {
		p.informers.StartWithContext(ctx)
		<-ctx.Done()
		p.informers.Shutdown()
	})
	if err := p.configured.Await(hook); err != nil && hook.Err() == nil {
		klog.ErrorS(p.configured.Following(), "Rejecting writes until admission plugins are synced")
	}
	return nil
}

// coreServes reports whether the core API server serves a resource in a version.
func (p *plugins) coreServes(gv schema.GroupVersion, resource string) bool {
	list, err := p.discovery.ServerResourcesForGroupVersion(gv.String())
	return err == nil && slices.ContainsFunc(list.APIResources,
		func(r metav1.APIResource) bool { return r.Name == resource })
}

// namespaceTimeout bounds the request for a namespace that is not cached.
const namespaceTimeout = 5 * time.Second

// namespace returns a namespace from the cache or, if it is missing there, from the core API server.
func (p *plugins) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	if cached, _, _ := p.namespaces.GetByKey(name); cached != nil { // the indexer returns no errors
		if ns, ok := cached.(*corev1.Namespace); ok {
			return ns, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	ns, err := p.live.Namespaces().Get(ctx, name, metav1.GetOptions{})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, apierrors.NewServerTimeout(corev1.Resource("namespaces"), "get", 1)
	}
	return ns, err
}
