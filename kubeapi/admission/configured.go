package admission

import (
	"context"
	"encoding/json"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	admissioninformers "k8s.io/client-go/informers/admissionregistration"
	"k8s.io/client-go/kubernetes"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"

	"triplane/generic/admission"
	"triplane/generic/admission/policy"
	"triplane/generic/admission/webhook"
	"triplane/generic/discovery"
	"triplane/kubeapi/group"
)

// configured is the plugins that are configured through the API:
// MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy and
// ValidatingAdmissionWebhook. They follow their configurations from the server's
// start on; requests wait until those that exist are known.
//
// Options: the configurations of the webhook plugins (apiserver.config.k8s.io/v1, kind
// WebhookAdmissionConfiguration) name a kubeconfig file with credentials for webhooks. Metrics:
// apiserver_admission_webhook_*, apiserver_admission_match_condition_*,
// apiserver_validating_admission_policy_* and apiserver_mutating_admission_policy_*. Order: behind the plugins that complete objects,
// before ResourceQuota, which counts what is final.
type configured struct {
	gate               *admission.Gate
	groups             *discovery.Groups
	mutates            bool // MutatingAdmissionPolicies are in force
	webhooks           webhook.Config
	mutatingPolicies   *policy.Mutating
	mutatingWebhooks   *webhook.Mutating
	validatingPolicies *policy.Validating
	validatingWebhooks *webhook.Validating
}

// newConfigured makes the plugins; client reads the params of policies.
func newConfigured(d *Dependencies, client dynamic.Interface) *configured {
	gate, stores := admission.NewGate(), d.Stores
	namespaces := func(ctx context.Context, name string) (*corev1.Namespace, error) {
		return group.GetNew[*corev1.Namespace](ctx, stores, core("namespaces"), "", name)
	}
	policies := policy.Config{Namespaces: namespaces, Authorizer: d.Authorizer, Params: &params{groups: d.Groups, client: client}, Metrics: d.Metrics, Gate: gate}
	webhooks := webhook.Config{Namespaces: namespaces, Authorizer: d.Authorizer, Resolver: d.Services, Metrics: d.Metrics, Gate: gate}
	return &configured{
		gate:               gate,
		groups:             d.Groups,
		mutates:            d.enabled("MutatingAdmissionPolicy"),
		webhooks:           webhooks,
		mutatingPolicies:   policy.NewMutating(policies),
		mutatingWebhooks:   webhook.NewMutating(webhooks),
		validatingPolicies: policy.NewValidating(policies),
		validatingWebhooks: webhook.NewValidating(webhooks),
	}
}

func newMutatingPolicies(d *Dependencies) admission.Interface { return d.configured.mutatingPolicies }
func newValidatingPolicies(d *Dependencies) admission.Interface {
	return d.configured.validatingPolicies
}

func newMutatingWebhooks(d *Dependencies, raw []byte) (admission.Interface, error) {
	config, err := d.configured.authenticated(raw)
	d.configured.mutatingWebhooks = webhook.NewMutating(config)
	return d.configured.mutatingWebhooks, err
}

func newValidatingWebhooks(d *Dependencies, raw []byte) (admission.Interface, error) {
	config, err := d.configured.authenticated(raw)
	d.configured.validatingWebhooks = webhook.NewValidating(config)
	return d.configured.validatingWebhooks, err
}

// authenticated is what webhook plugins need, with the credentials of a configuration.
func (c *configured) authenticated(raw []byte) (config webhook.Config, err error) {
	config = c.webhooks
	config.Credentials, err = webhook.ReadCredentials(raw)
	return config, err
}

// informed is who follows a kind.
type informed struct {
	informer cache.SharedIndexInformer
	changed  func()
}

// follow runs until ctx ends.
func (c *configured) follow(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	kinds := factory.Admissionregistration().V1()
	f := &followed{plugins: c,
		validating: kinds.ValidatingWebhookConfigurations().Lister(), mutating: kinds.MutatingWebhookConfigurations().Lister(),
		vap: kinds.ValidatingAdmissionPolicies().Lister(), vapBindings: kinds.ValidatingAdmissionPolicyBindings().Lister(),
	}
	followers := []informed{
		{kinds.ValidatingWebhookConfigurations().Informer(), f.setValidating},
		{kinds.MutatingWebhookConfigurations().Informer(), f.setMutating},
		{kinds.ValidatingAdmissionPolicies().Informer(), f.setValidatingPolicies},
		{kinds.ValidatingAdmissionPolicyBindings().Informer(), f.setValidatingPolicies},
	}
	if policies, bindings := c.mutatingInformers(factory.Admissionregistration()); policies != nil {
		f.mapl = admissionlisters.NewMutatingAdmissionPolicyLister(policies.GetIndexer())
		f.mapBindings = admissionlisters.NewMutatingAdmissionPolicyBindingLister(bindings.GetIndexer())
		followers = append(followers, informed{policies, f.setMutatingPolicies}, informed{bindings, f.setMutatingPolicies})
	}
	var synced []cache.DoneChecker
	for _, i := range followers {
		if err := i.informer.SetTransform(trimmed); err != nil {
			return // it runs already, which cannot be
		}
		registration, err := i.informer.AddEventHandler(onChange(i.changed))
		if err != nil {
			return
		}
		synced = append(synced, registration.HasSyncedChecker())
	}
	factory.StartWithContext(ctx)
	if cache.WaitFor(ctx, "", synced...) {
		c.gate.Open()
	}
	<-ctx.Done()
	factory.Shutdown()
}

// mutatingInformers follow MutatingAdmissionPolicies and their bindings in the newest version
// that is served: before 1.36 those are betas. They are nil where the policies are not in
// force.
func (c *configured) mutatingInformers(of admissioninformers.Interface) (policies, bindings cache.SharedIndexInformer) {
	serves := func(version string) bool {
		gv := schema.GroupVersion{Group: admissionv1.GroupName, Version: version}
		return c.mutates && c.groups.Serves(gv, "mutatingadmissionpolicies")
	}
	switch {
	case serves("v1"):
		return of.V1().MutatingAdmissionPolicies().Informer(), of.V1().MutatingAdmissionPolicyBindings().Informer()
	case serves("v1beta1"):
		return of.V1beta1().MutatingAdmissionPolicies().Informer(), of.V1beta1().MutatingAdmissionPolicyBindings().Informer()
	case serves("v1alpha1"):
		return of.V1alpha1().MutatingAdmissionPolicies().Informer(), of.V1alpha1().MutatingAdmissionPolicyBindings().Informer()
	}
	return nil, nil
}

// trimmed keeps informers small, and has policies in the stable version. It leaves alone what
// it has seen before.
func trimmed(obj any) (any, error) {
	switch obj.(type) {
	case *admissionv1beta1.MutatingAdmissionPolicy, *admissionv1alpha1.MutatingAdmissionPolicy:
		return stable(obj, &admissionv1.MutatingAdmissionPolicy{})
	case *admissionv1beta1.MutatingAdmissionPolicyBinding, *admissionv1alpha1.MutatingAdmissionPolicyBinding:
		return stable(obj, &admissionv1.MutatingAdmissionPolicyBinding{})
	}
	return withoutManagedFields(obj)
}

// stable converts an object to a version with the same fields.
func stable(obj, into any) (any, error) {
	b, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, err
	}
	return withoutManagedFields(into)
}

func withoutManagedFields(obj any) (any, error) {
	if o, ok := obj.(interface {
		runtime.Object
		group.Object
	}); ok {
		o.SetManagedFields(nil)
	}
	return obj, nil
}

func onChange(f func()) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f() },
		UpdateFunc: func(any, any) { f() },
		DeleteFunc: func(any) { f() },
	}
}

// followed hands the configurations to the plugins, whenever one changes.
type followed struct {
	plugins *configured
	// mu keeps an older list from coming after a newer one.
	mu          sync.Mutex
	validating  admissionlisters.ValidatingWebhookConfigurationLister
	mutating    admissionlisters.MutatingWebhookConfigurationLister
	vap         admissionlisters.ValidatingAdmissionPolicyLister
	vapBindings admissionlisters.ValidatingAdmissionPolicyBindingLister
	mapl        admissionlisters.MutatingAdmissionPolicyLister
	mapBindings admissionlisters.MutatingAdmissionPolicyBindingLister
}

// all selects everything; a lister cannot fail with it.
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
