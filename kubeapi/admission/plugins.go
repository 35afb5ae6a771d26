package admission

import (
	"context"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"triplane/generic/admission"
	"triplane/generic/admission/webhook"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/discovery"
	"triplane/generic/server"
	"triplane/kubeapi/group"
)

// Dependencies is what plugins are made from.
type Dependencies struct {
	// Stores finds the objects that plugins decide by.
	Stores *group.Stores
	// Authorizer decides what plugins ask on behalf of users; nil allows
	// everything.
	Authorizer authorizer.Authorizer
	// Groups lists what the server serves, for the params of policies.
	Groups *discovery.Groups
	// Services finds where the Services of webhooks can be reached, and connects to
	// webhooks.
	Services webhook.Resolver
	// Loopback is for clients inside this process.
	Loopback *restclient.Config
	// Tolerations are the options of DefaultTolerationSeconds.
	Tolerations TolerationOptions

	configured *configured
}

// Plugin is a row of the table of plugins.
type Plugin struct {
	// Name is that of --enable-admission-plugins and --disable-admission-plugins.
	Name string
	// OnByDefault is whether the plugin runs unless it is disabled.
	OnByDefault bool

	make func(*Dependencies) admission.Interface
}

// Table lists all plugins in the order in which they run, which is that of
// kube-apiserver v1.36, as are the defaults. A new plugin is a row here and a file.
func Table() []Plugin {
	const on, off = true, false
	return []Plugin{
		{"NamespaceLifecycle", on, newNamespaceLifecycle},
		{"LimitRanger", on, newLimitRanger},
		{"ServiceAccount", on, newServiceAccount},
		{"NodeRestriction", off, newNodeRestriction},
		{"TaintNodesByCondition", on, newTaintNodes},
		{"PodSecurity", on, newPodSecurity},
		{"Priority", on, newPriority},
		{"DefaultTolerationSeconds", on, newTolerationSeconds},
		{"DefaultStorageClass", on, newDefaultStorageClass},
		{"StorageObjectInUseProtection", on, newStorageProtection},
		{"PersistentVolumeClaimResize", on, newClaimResize},
		{"RuntimeClass", on, newRuntimeClass},
		{"CertificateApproval", on, newCertificateApproval},
		{"CertificateSigning", on, newCertificateSigning},
		{"CertificateSubjectRestriction", on, newCertificateSubject},
		{"DefaultIngressClass", on, newDefaultIngressClass},
		{"DenyServiceExternalIPs", off, newDenyExternalIPs},
		{"MutatingAdmissionPolicy", on, func(d *Dependencies) admission.Interface { return d.configured.mutatingPolicies }},
		{"MutatingAdmissionWebhook", on, func(d *Dependencies) admission.Interface { return d.configured.mutatingWebhooks }},
		{"ValidatingAdmissionPolicy", on, func(d *Dependencies) admission.Interface { return d.configured.validatingPolicies }},
		{"ValidatingAdmissionWebhook", on, func(d *Dependencies) admission.Interface { return d.configured.validatingWebhooks }},
		{"ResourceQuota", on, newResourceQuota},
	}
}

// Plugins is the chain of the enabled plugins.
type Plugins struct {
	Chain admission.Chain

	configured *configured
	client     kubernetes.Interface
}

// New makes the plugins that are enabled; a nil enabled enables all.
func New(d Dependencies, enabled func(name string) bool) (*Plugins, error) {
	client, err := kubernetes.NewForConfig(d.Loopback)
	if err != nil {
		return nil, err
	}
	params, err := dynamic.NewForConfig(d.Loopback)
	if err != nil {
		return nil, err
	}
	d.configured = newConfigured(&d, params)
	p := &Plugins{configured: d.configured, client: client}
	for _, row := range Table() {
		if enabled == nil || enabled(row.Name) {
			p.Chain = append(p.Chain, row.make(&d))
		}
	}
	return p, nil
}

// StartHook follows the configurations of webhooks and policies for as long as the
// server runs, and returns when those that exist are in force. Until it has run,
// writes wait.
func (p *Plugins) StartHook() server.PostStartHook {
	return server.PostStartHook{Name: "start-apiserver-admission-initializer", Func: func(hook server.HookContext) error {
		hook.Go(func(ctx context.Context) { p.configured.follow(ctx, p.client) })
		return p.configured.gate.Wait(hook, &admission.Attributes{})
	}}
}
