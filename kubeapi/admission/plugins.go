package admission

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/generic/guard/admission/configured"
	"triplane.dev/generic/guard/admission/lifecycle"
	"triplane.dev/generic/guard/admission/webhook"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/admission/eventratelimit"
	"triplane.dev/kubeapi/admission/noderestriction"
	"triplane.dev/kubeapi/admission/podsecurity"
	"triplane.dev/kubeapi/group"
)

// Dependencies are the dependencies of plugins.
type Dependencies struct {
	// Stores reads objects.
	Stores *group.Stores
	// Authorizer authorizes further permissions of users; nil allows everything.
	Authorizer authorizer.Authorizer
	// Groups is the discovery of the server, for the params of policies.
	Groups *discovery.Groups
	// Services resolves the Services of webhooks, and connects to webhooks.
	Services webhook.Resolver
	// Loopback configures clients inside this process.
	Loopback *restclient.Config
	// Tolerations are the options of DefaultTolerationSeconds.
	Tolerations TolerationOptions
	// Configurations are the documents of --admission-control-config-file; nil has none.
	Configurations *configuration.Plugins
	// FeatureEnabled reports whether a feature gate is on; nil means that all are off.
	FeatureEnabled func(gate string) bool
	// Metrics gets the metrics of plugins; nil counts nothing.
	Metrics *metrics.Registry
	// Manifests reads webhooks and policies from files; nil disables that.
	Manifests *configured.Manifests
	// OnDemand makes the configurations of webhooks and policies be read by the first write.
	OnDemand bool
	// Own are the plugins of the embedding program.
	Own []admission.Plugin

	configured *configured.Plugins
	work       []func(context.Context) // of plugins, while the server runs
}

func (d *Dependencies) enabled(gate string) bool {
	return d.FeatureEnabled != nil && d.FeatureEnabled(gate)
}

// Plugin is a row of the table of plugins. Either make or configure is set.
type Plugin struct {
	// Name is the name in --enable-admission-plugins and --disable-admission-plugins.
	Name string
	// OnByDefault is whether the plugin is enabled by default.
	OnByDefault bool

	make func(*Dependencies) admission.Interface
	// configure creates a plugin from its configuration, which may be nil.
	configure func(*Dependencies, []byte) (admission.Interface, error)
}

// Table returns all plugins in the order of kube-apiserver v1.36, with its defaults. A new plugin needs a row here
// and a file.
func Table() []Plugin {
	const on, off = true, false
	return []Plugin{
		{"AlwaysAdmit", off, newAlwaysAdmit, nil},
		{"NamespaceAutoProvision", off, newNamespaceAutoProvision, nil},
		{"NamespaceLifecycle", on, func(d *Dependencies) admission.Interface { return lifecycle.New(d.namespace) },
			nil},
		{"NamespaceExists", off, newNamespaceExists, nil},
		{"LimitPodHardAntiAffinityTopology", off, newAntiAffinity, nil},
		{"LimitRanger", on, newLimitRanger, nil},
		{"ServiceAccount", on, newServiceAccount, nil},
		{"NodeRestriction", off, func(d *Dependencies) admission.Interface {
			return noderestriction.New(d.Stores, d.Authorizer, noderestriction.Limits{
				AnyAudience: !d.enabled("ServiceAccountNodeAudienceRestriction"),
				AnyRequest:  d.enabled("AllowInsecureKubeletCertificateSigningRequests"),
			})
		}, nil},
		{"TaintNodesByCondition", on, newTaintNodes, nil},
		{"AlwaysPullImages", off, newAlwaysPullImages, nil},
		{"ImagePolicyWebhook", off, nil, newImagePolicy},
		{"PodSecurity", on, nil, func(d *Dependencies, raw []byte) (admission.Interface, error) {
			return podsecurity.New(d.Stores, d.Metrics, raw)
		}},
		{"PodNodeSelector", off, nil, newPodNodeSelector},
		{"Priority", on, newPriority, nil},
		{"DefaultTolerationSeconds", on, newTolerationSeconds, nil},
		{"PodTolerationRestriction", off, nil, newPodTolerations},
		{"EventRateLimit", off, nil, func(_ *Dependencies, raw []byte) (admission.Interface, error) {
			return eventratelimit.New(raw)
		}},
		{"ExtendedResourceToleration", off, newExtendedResources, nil},
		{"DefaultStorageClass", on, newDefaultStorageClass, nil},
		{"StorageObjectInUseProtection", on, newStorageProtection, nil},
		{"PodGroupProtection", on, newPodGroupProtection, nil},
		{"OwnerReferencesPermissionEnforcement", off, newOwnerReferences, nil},
		{"PersistentVolumeClaimResize", on, newClaimResize, nil},
		{"RuntimeClass", on, newRuntimeClass, nil},
		{"CertificateApproval", on, newCertificateApproval, nil},
		{"CertificateSigning", on, newCertificateSigning, nil},
		{"ClusterTrustBundleAttest", on, newClusterTrustBundle, nil},
		{"CertificateSubjectRestriction", on, newCertificateSubject, nil},
		{"DefaultIngressClass", on, newDefaultIngressClass, nil},
		{"DenyServiceExternalIPs", off, newDenyExternalIPs, nil},
		{"PodTopologyLabels", on, newPodTopology, nil},
		{"NodeDeclaredFeatureValidator", on, newNodeFeatures, nil},
		{"PodResizeValidator", on, newPodResize, nil},
		{firstDynamic, on, nil, func(d *Dependencies, raw []byte) (admission.Interface, error) {
			return d.configured.MutatingPolicies(raw)
		}},
		{configured.MutatingWebhook, on, nil, func(d *Dependencies, raw []byte) (admission.Interface, error) {
			return d.configured.MutatingWebhooks(raw)
		}},
		{configured.ValidatingPolicy, on, nil, func(d *Dependencies, raw []byte) (admission.Interface, error) {
			return d.configured.ValidatingPolicies(raw)
		}},
		{configured.ValidatingWebhook, on, nil, func(d *Dependencies, raw []byte) (admission.Interface, error) {
			return d.configured.ValidatingWebhooks(raw)
		}},
		{"ResourceQuota", on, nil, newResourceQuota},
		{"AlwaysDeny", off, newAlwaysDeny, nil},
	}
}

// firstDynamic is the first of the plugins that are configured through the API. They see the changes of all
// others.
const firstDynamic = configured.MutatingPolicy

// WithOwn returns the table with the plugins of the embedding program, in their order, before those that are
// configured through the API.
func WithOwn(own []admission.Plugin) []Plugin {
	rows := Table()
	for _, p := range own {
		at := slices.IndexFunc(rows, func(r Plugin) bool { return r.Name == firstDynamic })
		rows = slices.Insert(rows, at, Plugin{Name: p.Name, OnByDefault: p.OnByDefault,
			configure: func(d *Dependencies, raw []byte) (admission.Interface, error) {
				return p.New(admission.Needs{Core: d.Loopback, Loopback: d.Loopback,
					Authorizer: d.Authorizer, Configuration: raw,
					Go: func(work func(context.Context)) { d.work = append(d.work, work) }})
			}})
	}
	return rows
}

// Plugins is the chain of enabled plugins.
type Plugins struct {
	Chain admission.Chain

	configured *configured.Plugins
	groups     *discovery.Groups
	stores     *group.Stores
	mutates    bool // MutatingAdmissionPolicy is enabled
	work       []func(context.Context)
}

// New creates the enabled plugins; a nil enabled selects those that are enabled by default.
func New(d Dependencies, enabled func(name string) bool) (*Plugins, error) {
	params, err := dynamic.NewForConfig(d.Loopback)
	if err != nil {
		return nil, err
	}
	counted := admission.NewMetrics(d.Metrics)
	d.configured = configured.New(configured.Config{Namespaces: d.namespace, Authorizer: d.Authorizer,
		Services: d.Services, Metrics: counted, ExcludeReviews: d.enabled("ExcludeAdmissionWebhookVirtualResources"),
		Params: configured.NewParams(d.Groups.KindResolver(), params), Manifests: d.Manifests, OnDemand: d.OnDemand})
	var plugins []admission.Named
	var readers []string
	for _, row := range WithOwn(d.Own) {
		if enabled == nil && !row.OnByDefault || enabled != nil && !enabled(row.Name) {
			continue
		}
		plugin, err := row.plugin(&d)
		if err != nil {
			return nil, fmt.Errorf("couldn't init admission plugin %q: %w", row.Name, err)
		}
		plugins = append(plugins, admission.Named{Name: row.Name, Plugin: plugin})
		if row.configure != nil {
			readers = append(readers, row.Name)
		}
	}
	d.Configurations.Warn(readers)
	return &Plugins{Chain: admission.NewChain(counted, plugins...), configured: d.configured, groups: d.Groups,
		stores: d.Stores, mutates: d.enabled("MutatingAdmissionPolicy"), work: d.work}, nil
}

func (r *Plugin) plugin(d *Dependencies) (admission.Interface, error) {
	if r.configure == nil {
		return r.make(d), nil
	}
	raw, err := d.Configurations.For(r.Name)
	if err != nil {
		return nil, err
	}
	return r.configure(d, raw)
}

// namespace returns a namespace from the watch cache, or from storage if it is missing there. Callers must not
// change it.
func (d *Dependencies) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return group.Namespaces(d.Stores).GetShared(ctx, "", name)
}

// Following returns an error unless all configured webhooks and policies are in effect.
func (p *Plugins) Following() error { return p.configured.Following() }

// StartHook watches the configurations of webhooks and policies while the server runs, and returns when the existing
// ones are in effect. Writes wait until then. It also runs the work of plugins of an embedding program.
func (p *Plugins) StartHook() server.PostStartHook {
	return server.PostStartHook{Name: "start-apiserver-admission-initializer",
		Func: func(hook server.HookContext) error {
			mutating := ""
			if p.mutates && configured.MutatingVersion(p.groups.Serves) != "" {
				mutating = "v1" // the hub version, which informers of this process have
			}
			objects := informers.NewFactory(p.stores.Source)
			hook.Go(func(ctx context.Context) { p.configured.Follow(ctx, objects, mutating) })
			for _, work := range p.work {
				hook.Go(work)
			}
			// A configuration that cannot be decoded might reject anything. Writes are rejected until an administrator
			// deletes it; reads are not affected.
			if err := p.configured.Await(hook); err != nil && hook.Err() == nil {
				klog.ErrorS(p.Following(), "Rejecting writes until webhooks and policies are synced")
			}
			return nil
		}}
}
