package configured

import (
	"context"
	"errors"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/manifest"
	"triplane.dev/generic/guard/admission/policy"
	"triplane.dev/generic/guard/admission/webhook"
	"triplane.dev/internal/worker"
)

// Config configures the plugins.
type Config struct {
	// Namespaces returns a namespace, whose labels selectors match.
	Namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)
	// Authorizer is the variable authorizer of CEL expressions; nil allows all.
	Authorizer authorizer.Authorizer
	// Params reads the param objects of policies.
	Params policy.Params
	// Services resolves the Services of webhooks and connects to webhooks. With nil, the system's DNS resolves
	// them.
	Services webhook.Resolver
	// ExcludeReviews is set if no webhook is called for authentication and authorization reviews.
	ExcludeReviews bool
	// Metrics counts calls and evaluations; nil disables metrics.
	Metrics *admission.Metrics
	// OnDemand makes Follow begin with the first write, which waits until the webhooks and policies are synced.
	OnDemand bool
	// Manifests lets plugins read webhooks and policies from files. With nil, staticManifestsDir is an error.
	Manifests *Manifests
}

// Names of the four plugins.
const (
	MutatingPolicy    = "MutatingAdmissionPolicy"
	MutatingWebhook   = "MutatingAdmissionWebhook"
	ValidatingPolicy  = "ValidatingAdmissionPolicy"
	ValidatingWebhook = "ValidatingAdmissionWebhook"
)

// Plugins are MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy and
// ValidatingAdmissionWebhook.
//
// Options: the configurations of the webhook plugins (apiserver.config.k8s.io/v1, kind
// WebhookAdmissionConfiguration) name a kubeconfig file with credentials for webhooks, and those of all four
// (ValidatingAdmissionPolicyConfiguration, MutatingAdmissionPolicyConfiguration) a directory with manifests
// (staticManifestsDir).
//
// Metrics: apiserver_manifest_admission_config_controller_*, apiserver_admission_webhook_*,
// apiserver_admission_match_condition_*, apiserver_validating_admission_policy_* and
// apiserver_mutating_admission_policy_*.
//
// Order: after the plugins that default objects, before ResourceQuota, which counts the final object.
type Plugins struct {
	gate               *admission.Gate
	onDemand           bool
	manifests          *Manifests
	enabled            []string // names of plugins
	sources            []*manifest.Source
	webhooks           webhook.Config
	mutatingPolicies   *policy.Mutating
	mutatingWebhooks   *webhook.Mutating
	validatingPolicies *policy.Validating
	validatingWebhooks *webhook.Validating
}

// New creates the plugins. They have no configurations until Follow runs.
func New(c Config) *Plugins {
	gate := admission.NewGate()
	policies := policy.Config{Namespaces: c.Namespaces, Authorizer: c.Authorizer, Params: c.Params, Metrics: c.Metrics,
		Gate: gate}
	webhooks := webhook.Config{Namespaces: c.Namespaces, Authorizer: c.Authorizer, Resolver: c.Services,
		Metrics: c.Metrics, Gate: gate, ExcludeReviews: c.ExcludeReviews}
	return &Plugins{
		gate:               gate,
		onDemand:           c.OnDemand,
		manifests:          c.Manifests,
		webhooks:           webhooks,
		mutatingPolicies:   policy.NewMutating(policies),
		mutatingWebhooks:   webhook.NewMutating(webhooks),
		validatingPolicies: policy.NewValidating(policies),
		validatingWebhooks: webhook.NewValidating(webhooks),
	}
}

// MutatingPolicies returns the plugin MutatingAdmissionPolicy with its configuration, which may be nil. It must
// be called before Follow.
func (c *Plugins) MutatingPolicies(raw []byte) (admission.Interface, error) {
	dir, err := policyManifests(raw, "MutatingAdmissionPolicyConfiguration")
	if err != nil {
		return nil, err
	}
	return c.mutatingPolicies, c.static(MutatingPolicy, dir, func(o *manifest.Objects) {
		c.mutatingPolicies.SetStatic(o.MutatingPolicies, o.MutatingBindings)
	})
}

// ValidatingPolicies returns the plugin ValidatingAdmissionPolicy with its configuration, which may be nil. It
// must be called before Follow.
func (c *Plugins) ValidatingPolicies(raw []byte) (admission.Interface, error) {
	dir, err := policyManifests(raw, "ValidatingAdmissionPolicyConfiguration")
	if err != nil {
		return nil, err
	}
	return c.validatingPolicies, c.static(ValidatingPolicy, dir, func(o *manifest.Objects) {
		c.validatingPolicies.SetStatic(o.ValidatingPolicies, o.ValidatingBindings)
	})
}

// MutatingWebhooks returns the plugin MutatingAdmissionWebhook with its configuration, which may be nil. It
// must be called before Follow.
func (c *Plugins) MutatingWebhooks(raw []byte) (admission.Interface, error) {
	config, dir, err := c.authenticated(raw)
	if err != nil {
		return nil, err
	}
	c.mutatingWebhooks = webhook.NewMutating(config)
	return c.mutatingWebhooks, c.static(MutatingWebhook, dir,
		func(o *manifest.Objects) { c.mutatingWebhooks.SetStatic(o.MutatingWebhooks) })
}

// ValidatingWebhooks returns the plugin ValidatingAdmissionWebhook with its configuration, which may be nil. It
// must be called before Follow.
func (c *Plugins) ValidatingWebhooks(raw []byte) (admission.Interface, error) {
	config, dir, err := c.authenticated(raw)
	if err != nil {
		return nil, err
	}
	c.validatingWebhooks = webhook.NewValidating(config)
	return c.validatingWebhooks, c.static(ValidatingWebhook, dir,
		func(o *manifest.Objects) { c.validatingWebhooks.SetStatic(o.ValidatingWebhooks) })
}

// authenticated returns the configuration of a webhook plugin with its credentials, and the directory of its
// manifests.
func (c *Plugins) authenticated(raw []byte) (config webhook.Config, manifests string, err error) {
	config = c.webhooks
	config.Credentials, manifests, err = webhook.ReadConfiguration(raw)
	return config, manifests, err
}

// isIdle reports whether Follow waits for the first write.
func (c *Plugins) isIdle() bool {
	select {
	case <-c.gate.Wanted():
		return false
	default:
		return c.onDemand
	}
}

// Following returns an error while stored webhooks and policies are not synced on which writes depend.
func (c *Plugins) Following() error {
	if c.gate.IsOpen() || c.isIdle() {
		return nil
	}
	return errors.New("the webhooks and policies that exist are not all known yet")
}

// Await returns when the stored webhooks and policies are synced, or begin to be with the first write. After 10 seconds
// it returns the error that denies writes until then.
func (c *Plugins) Await(ctx context.Context) error {
	if c.onDemand {
		return nil
	}
	return c.gate.Wait(ctx, &admission.Attributes{})
}

// InformerFactory has one informer for each Go type; see generic/api/informers.
type InformerFactory interface {
	InformerFor(prototype runtime.Object) cache.SharedIndexInformer
	StartWithContext(ctx context.Context)
	Shutdown()
}

// Follow applies the webhooks and policies of the API until ctx ends. mutating is the version of
// MutatingAdmissionPolicy to follow, or "" for none. It runs the informers of the factory, which is its own.
func (c *Plugins) Follow(ctx context.Context, factory InformerFactory, mutating string) {
	if c.onDemand {
		select {
		case <-c.gate.Wanted():
		case <-ctx.Done():
			return
		}
	}
	var work worker.Group
	defer work.Wait()
	for _, s := range c.sources {
		work.Keep(ctx, s.Run)
	}
	f := &followed{plugins: c}
	synced, err := f.watch(factory, mutating)
	if err != nil {
		return // only informers that run already fail
	}
	factory.StartWithContext(ctx)
	defer factory.Shutdown()
	if cache.WaitFor(ctx, "", synced...) {
		c.gate.Open()
	}
	<-ctx.Done()
}

// watch registers the informers of the enabled plugins. It returns what is done when they have synced.
func (f *followed) watch(of InformerFactory, mutating string) (synced []cache.DoneChecker, err error) {
	follow := func(changed func(), informers ...cache.SharedIndexInformer) {
		for _, i := range informers {
			var registration cache.ResourceEventHandlerRegistration
			if err = errors.Join(err, i.SetTransform(trimmed)); err != nil {
				return
			}
			if registration, err = i.AddEventHandler(onChange(changed, f.plugins.webhooks.Metrics)); err != nil {
				return
			}
			synced = append(synced, registration.HasSyncedChecker())
		}
	}
	enabled := func(plugin string) bool { return slices.Contains(f.plugins.enabled, plugin) }
	if enabled(ValidatingWebhook) {
		webhooks := of.InformerFor(&admissionv1.ValidatingWebhookConfiguration{})
		f.validating = admissionlisters.NewValidatingWebhookConfigurationLister(webhooks.GetIndexer())
		follow(f.setValidating, webhooks)
	}
	if enabled(MutatingWebhook) {
		webhooks := of.InformerFor(&admissionv1.MutatingWebhookConfiguration{})
		f.mutating = admissionlisters.NewMutatingWebhookConfigurationLister(webhooks.GetIndexer())
		follow(f.setMutating, webhooks)
	}
	if enabled(ValidatingPolicy) {
		policies := of.InformerFor(&admissionv1.ValidatingAdmissionPolicy{})
		bindings := of.InformerFor(&admissionv1.ValidatingAdmissionPolicyBinding{})
		f.vap = admissionlisters.NewValidatingAdmissionPolicyLister(policies.GetIndexer())
		f.vapBindings = admissionlisters.NewValidatingAdmissionPolicyBindingLister(bindings.GetIndexer())
		follow(f.setValidatingPolicies, policies, bindings)
	}
	if policies, bindings := mutatingInformers(of, mutating); enabled(MutatingPolicy) && policies != nil {
		f.mapl = admissionlisters.NewMutatingAdmissionPolicyLister(policies.GetIndexer())
		f.mapBindings = admissionlisters.NewMutatingAdmissionPolicyBindingLister(bindings.GetIndexer())
		follow(f.setMutatingPolicies, policies, bindings)
	}
	return synced, err
}

func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(interface {
		runtime.Object
		metav1.Object
	}); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func onChange(f func(), m *admission.Metrics) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f() },
		UpdateFunc: func(any, any) { f() },
		DeleteFunc: func(any) {
			f()
			m.Prune()
		},
	}
}

// followed sets the configurations of the plugins whenever one changes.
type followed struct {
	plugins *Plugins
	// mu orders calls of Set, so that a newer list is never overwritten by an older one.
	mu          sync.Mutex
	validating  admissionlisters.ValidatingWebhookConfigurationLister
	mutating    admissionlisters.MutatingWebhookConfigurationLister
	vap         admissionlisters.ValidatingAdmissionPolicyLister
	vapBindings admissionlisters.ValidatingAdmissionPolicyBindingLister
	mapl        admissionlisters.MutatingAdmissionPolicyLister
	mapBindings admissionlisters.MutatingAdmissionPolicyBindingLister
}

// all selects everything. A lister returns no error with it.
var all = labels.Everything()

func (f *followed) setValidating() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list, err := f.validating.List(all); err == nil {
		f.plugins.validatingWebhooks.Set(list)
	}
}

func (f *followed) setMutating() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list, err := f.mutating.List(all); err == nil {
		f.plugins.mutatingWebhooks.Set(list)
	}
}

func (f *followed) setValidatingPolicies() {
	f.mu.Lock()
	defer f.mu.Unlock()
	policies, err := f.vap.List(all)
	bindings, bindingsErr := f.vapBindings.List(all)
	if err == nil && bindingsErr == nil {
		f.plugins.validatingPolicies.Set(policies, bindings)
	}
}

func (f *followed) setMutatingPolicies() {
	f.mu.Lock()
	defer f.mu.Unlock()
	policies, err := f.mapl.List(all)
	bindings, bindingsErr := f.mapBindings.List(all)
	if err == nil && bindingsErr == nil {
		f.plugins.mutatingPolicies.Set(policies, bindings)
	}
}
