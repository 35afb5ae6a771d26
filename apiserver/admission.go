package apiserver

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

// pluginNames returns the names of all plugins in their order, and of those that are enabled by default.
func pluginNames(s *Server) (known, byDefault []string) {
	known, byDefault = []string{namespaceLifecycle}, []string{namespaceLifecycle}
	for _, p := range s.Plugins {
		known = append(known, p.Name)
		if p.OnByDefault {
			byDefault = append(byDefault, p.Name)
		}
	}
	followed := []string{mutatingPolicies, mutatingWebhooks, validatingPolicies, validatingWebhooks}
	return append(known, followed...), append(byDefault, followed...)
}

// plugins creates the admission plugins of a server.
type plugins struct {
	*builder
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

// admit creates the chain of admission plugins. A standalone server has only its own plugins.
func (b *builder) admit() error {
	p := &plugins{builder: b, metrics: admission.NewMetrics(b.config.Metrics.Registry)}
	enabled := b.options.Admission.Enabled()
	var err error
	if p.documents, err = configuration.Read(b.options.Admission.ConfigFile, enabled); err != nil {
		return err
	}
	if b.core != nil {
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
	b.config.Admission = admission.NewChain(p.metrics, chain...)
	b.config.PostStartHooks = append(b.config.PostStartHooks,
		server.PostStartHook{Name: "start-apiserver-admission-initializer", Func: p.start})
	return nil
}

// follow creates the informers of the core API server.
func (p *plugins) follow() error {
	config := restclient.CopyConfig(p.core)
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
		Namespaces: p.namespace, Authorizer: p.config.Authorization, Metrics: p.metrics,
		Params: configured.NewParams(configured.Mapped(mapper), client),
	})
	p.config.ReadyChecks = append(p.config.ReadyChecks, healthz.NamedCheck("admission-configurations",
		p.configured.Following))
	return nil
}

// plugin creates a plugin; nil if it has no effect on this server.
func (p *plugins) plugin(name string) (admission.Interface, error) {
	raw, err := p.documents.For(name)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(p.server.Plugins, func(own admission.Plugin) bool { return own.Name == name }); i >= 0 {
		return p.server.Plugins[i].New(admission.Needs{
			Core: p.core, Loopback: p.config.LoopbackClientConfig,
			Authorizer:    p.config.Authorization,
			Configuration: raw, Go: func(work func(context.Context)) { p.work = append(p.work, work) },
		})
	}
	if p.core == nil {
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
	if p.core == nil {
		return nil
	}
	mutating := configured.MutatingVersion(p.coreServes)
	hook.Go(func(ctx context.Context) {
		p.configured.Follow(ctx, p.remote(), mutating)
	})
	if b := p.builder; b.config.FlowControl != nil {
		schemas := p.informers.InformerFor(&flowcontrolv1.FlowSchema{})
		levels := p.informers.InformerFor(&flowcontrolv1.PriorityLevelConfiguration{})
		hook.Go(b.config.FlowControl.Run)
		hook.Go(func(ctx context.Context) { b.config.FlowControl.Follow(ctx, schemas, levels) })
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
