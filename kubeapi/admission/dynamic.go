package admission

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	admissionlisters "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"

	"triplane/generic/admission"
	"triplane/generic/admission/policy"
	"triplane/generic/admission/webhook"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/discovery"
	"triplane/generic/server"
	"triplane/kubeapi/group"
)

// Names of the plugins that are configured through the API.
const (
	MutatingPolicyName    = "MutatingAdmissionPolicy"
	MutatingWebhookName   = "MutatingAdmissionWebhook"
	ValidatingPolicyName  = "ValidatingAdmissionPolicy"
	ValidatingWebhookName = "ValidatingAdmissionWebhook"
)

// DynamicNames are the names of the plugins that are configured through the API,
// in the order in which they run.
func DynamicNames() []string {
	return []string{MutatingPolicyName, MutatingWebhookName, ValidatingPolicyName, ValidatingWebhookName}
}

// Dynamic is the plugins that are configured through the API: webhooks and
// policies. They follow their configurations from the server's start on; requests
// wait for the first sight of them.
type Dynamic struct {
	gate               *admission.Gate
	params             *params
	mutatingPolicies   *policy.Mutating
	mutatingWebhooks   *webhook.Mutating
	validatingPolicies *policy.Validating
	validatingWebhooks *webhook.Validating
}

// NewDynamic makes the plugins. Groups tells what the server serves, for the
// kinds of params.
func NewDynamic(stores *group.Stores, authz authorizer.Authorizer, groups *discovery.Groups) *Dynamic {
	d := &Dynamic{gate: admission.NewGate(), params: &params{groups: groups}}
	namespaces := func(ctx context.Context, name string) (*corev1.Namespace, error) {
		return fresh[*corev1.Namespace](ctx, stores, core("namespaces"), "", name)
	}
	policies := policy.Config{Namespaces: namespaces, Authorizer: authz, Params: d.params, Gate: d.gate}
	webhooks := webhook.Config{Namespaces: namespaces, Authorizer: authz, Resolver: &serviceResolver{stores}, Gate: d.gate}
	d.mutatingPolicies, d.validatingPolicies = policy.NewMutating(policies), policy.NewValidating(policies)
	d.mutatingWebhooks, d.validatingWebhooks = webhook.NewMutating(webhooks), webhook.NewValidating(webhooks)
	return d
}

// Chain adds the enabled plugins to a chain. Quota is counted last.
func (d *Dynamic) Chain(chain admission.Chain, enabled func(name string) bool) admission.Chain {
	at := slices.IndexFunc(chain, func(p admission.Interface) bool {
		_, ok := p.(*resourceQuota)
		return ok
	})
	if at < 0 {
		at = len(chain)
	}
	var own admission.Chain
	for i, p := range []admission.Interface{d.mutatingPolicies, d.mutatingWebhooks, d.validatingPolicies, d.validatingWebhooks} {
		if enabled == nil || enabled(DynamicNames()[i]) {
			own = append(own, p)
		}
	}
	return slices.Insert(slices.Clone(chain), at, own...)
}

// Install has a server follow the configurations from its start on. It is ready
// when those that are there are known.
func (d *Dynamic) Install(s *server.GenericAPIServer) error {
	if err := d.params.connect(s.LoopbackClientConfig); err != nil {
		return err
	}
	return s.AddPostStartHook("start-apiserver-admission-initializer", func(hook server.HookContext) error {
		client, err := kubernetes.NewForConfig(hook.LoopbackClientConfig)
		if err != nil {
			return err
		}
		s.Go(func(ctx context.Context) { d.follow(ctx, client) })
		return d.gate.Wait(hook, &admission.Attributes{})
	})
}

// follow runs until ctx ends.
func (d *Dynamic) follow(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactory(client, 0)
	kinds := factory.Admissionregistration().V1()
	f := &followed{dynamic: d,
		validating: kinds.ValidatingWebhookConfigurations().Lister(), mutating: kinds.MutatingWebhookConfigurations().Lister(),
		vap: kinds.ValidatingAdmissionPolicies().Lister(), vapBindings: kinds.ValidatingAdmissionPolicyBindings().Lister(),
		mapl: kinds.MutatingAdmissionPolicies().Lister(), mapBindings: kinds.MutatingAdmissionPolicyBindings().Lister(),
	}
	var synced []cache.DoneChecker
	for _, i := range []struct {
		informer cache.SharedIndexInformer
		changed  func()
	}{
		{kinds.ValidatingWebhookConfigurations().Informer(), f.setValidating},
		{kinds.MutatingWebhookConfigurations().Informer(), f.setMutating},
		{kinds.ValidatingAdmissionPolicies().Informer(), f.setValidatingPolicies},
		{kinds.ValidatingAdmissionPolicyBindings().Informer(), f.setValidatingPolicies},
		{kinds.MutatingAdmissionPolicies().Informer(), f.setMutatingPolicies},
		{kinds.MutatingAdmissionPolicyBindings().Informer(), f.setMutatingPolicies},
	} {
		if err := i.informer.SetTransform(withoutManagedFields); err != nil {
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
		d.gate.Open()
	}
	<-ctx.Done()
	factory.Shutdown()
}

// withoutManagedFields keeps informers small.
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
	dynamic *Dynamic
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
		f.dynamic.validatingWebhooks.Set(list)
	}
}

func (f *followed) setMutating() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list, err := f.mutating.List(all); err == nil {
		f.dynamic.mutatingWebhooks.Set(list)
	}
}

func (f *followed) setValidatingPolicies() {
	f.mu.Lock()
	defer f.mu.Unlock()
	policies, err := f.vap.List(all)
	bindings, bindingsErr := f.vapBindings.List(all)
	if err == nil && bindingsErr == nil {
		f.dynamic.validatingPolicies.Set(policies, bindings)
	}
}

func (f *followed) setMutatingPolicies() {
	f.mu.Lock()
	defer f.mu.Unlock()
	policies, err := f.mapl.List(all)
	bindings, bindingsErr := f.mapBindings.List(all)
	if err == nil && bindingsErr == nil {
		f.dynamic.mutatingPolicies.Set(policies, bindings)
	}
}
