package triplane

import (
	"context"
	"errors"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/authorization/configuration"
	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/nodeauthorizer"
)

// authorizers are the authorizers that decide by stored objects, which they watch from the server's start.
type authorizers struct {
	stores *group.Stores
	rbac   *rbac.Authorizer
	node   *nodeAuthorizer
}

func newAuthorizers(stores *group.Stores, policy *rbac.Authorizer, o *Options) *authorizers {
	enabled := o.Compatibility.Enabled
	return &authorizers{stores, policy, newNodeAuthorizer(o.Kube.RuntimeConfig.Serves, nodeauthorizer.Features{
		TrustBundles: enabled("ClusterTrustBundle"), PodCertificates: enabled("PodCertificateRequest"),
	})}
}

// modes returns the authorizers by --authorization-mode.
func (a *authorizers) modes() map[string]authoptions.Mode {
	return map[string]authoptions.Mode{
		configuration.RBAC: {Authorizer: a.rbac, RuleResolver: a.rbac},
		configuration.Node: {Authorizer: a.node, RuleResolver: a.node.Authorizer},
	}
}

// startHook watches the objects while the server runs. With RBAC it returns when the authorizer has synced, unless its
// decisions wait for that.
func (a *authorizers) startHook(withRBAC bool) server.PostStartHook {
	return server.PostStartHook{Name: "generic-apiserver-start-informers", Func: func(hook server.HookContext) error {
		hook.Go(func(ctx context.Context) { a.node.run(ctx, informers.NewFactory(a.stores.Source)) })
		if !withRBAC {
			return nil
		}
		synced := make(chan struct{})
		hook.Go(func(ctx context.Context) { a.rbac.Follow(ctx, a.stores.Source, synced) })
		if a.rbac.OnDemand() {
			return nil
		}
		select {
		case <-synced:
			return nil
		case <-hook.Done():
			return errors.New("RBAC objects could not be listed")
		}
	}}
}

// policyWait bounds how long the start waits for RBAC to see the default policy, parts of which may have been
// deleted.
const policyWait = 10 * time.Second

// policyInEffect returns when RBAC enforces these roles and bindings.
func (a *authorizers) policyInEffect(ctx context.Context, policy []metav1.Object) error {
	limited, cancel := context.WithTimeout(ctx, policyWait)
	defer cancel()
	if err := a.rbac.Await(limited, policy); ctx.Err() == nil && err != nil {
		klog.ErrorS(err, "Timed out waiting for RBAC to sync the default policy")
	}
	return ctx.Err()
}

// firstSync bounds how long a node's first requests wait for the objects that the decision depends on.
const firstSync = 10 * time.Second

// nodeAuthorizer is the node authorizer. It watches its objects from the first request of a node, because the
// watch duplicates the pods in memory.
type nodeAuthorizer struct {
	*nodeauthorizer.Authorizer
	serves   func(version schema.GroupVersion, resource string) bool
	features nodeauthorizer.Features

	first  sync.Once
	asked  chan struct{} // closed at the first request
	synced chan struct{} // closed when the objects that exist are synced
}

func newNodeAuthorizer(serves func(schema.GroupVersion, string) bool, f nodeauthorizer.Features) *nodeAuthorizer {
	return &nodeAuthorizer{Authorizer: nodeauthorizer.New(f), serves: serves, features: f, asked: make(chan struct{}),
		synced: make(chan struct{})}
}

// Authorize implements authorizer.Authorizer.
func (n *nodeAuthorizer) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if _, ok := nodeauthorizer.Name(a.User); !ok {
		return authorizer.NoOpinion, "", nil
	}
	select {
	case <-n.synced:
	default:
		n.await(ctx)
	}
	return n.Authorizer.Authorize(ctx, a)
}

func (n *nodeAuthorizer) await(ctx context.Context) {
	n.first.Do(func() { close(n.asked) })
	limit := time.NewTimer(firstSync)
	defer limit.Stop()
	select {
	case <-n.synced:
	case <-ctx.Done():
	case <-limit.C:
	}
}

// run watches the objects until ctx is done, starting with the first request of a node.
func (n *nodeAuthorizer) run(ctx context.Context, factory *informers.Factory) {
	select {
	case <-n.asked:
		follow(ctx, factory, n.Handler(), n.kinds, n.synced)
	case <-ctx.Done():
	}
}

// kinds returns the informers of the served resources that the decision depends on.
func (n *nodeAuthorizer) kinds(factory *informers.Factory) []cache.SharedIndexInformer {
	var kinds []cache.SharedIndexInformer
	if n.serves(corev1.SchemeGroupVersion, "pods") {
		pods := factory.InformerFor(&corev1.Pod{})
		if err := pods.SetTransform(nodeauthorizer.Trim); err != nil {
			klog.ErrorS(err, "Failed to trim the pods of the node authorizer")
		}
		kinds = append(kinds, pods)
	}
	if n.serves(corev1.SchemeGroupVersion, "persistentvolumes") {
		kinds = append(kinds, factory.InformerFor(&corev1.PersistentVolume{}))
	}
	if n.serves(storagev1.SchemeGroupVersion, "volumeattachments") {
		kinds = append(kinds, factory.InformerFor(&storagev1.VolumeAttachment{}))
	}
	if n.serves(resourcev1.SchemeGroupVersion, "resourceslices") {
		kinds = append(kinds, factory.InformerFor(&resourcev1.ResourceSlice{}))
	}
	const requests = "podcertificaterequests"
	if n.features.PodCertificates && (n.serves(certificatesv1.SchemeGroupVersion, requests) ||
		n.serves(certificatesv1beta1.SchemeGroupVersion, requests)) {
		// The hub version: a factory finds stores by the Go type of their objects.
		kinds = append(kinds, factory.InformerFor(&certificatesv1beta1.PodCertificateRequest{}))
	}
	return kinds
}

// follow passes the events of informers to the handler until ctx is done. It closes synced when the handler has
// received all existing objects.
func follow(ctx context.Context, factory *informers.Factory, handler cache.ResourceEventHandler,
	kinds func(*informers.Factory) []cache.SharedIndexInformer, synced chan<- struct{}) {
	var delivered []cache.DoneChecker
	for _, informer := range kinds(factory) {
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			klog.ErrorS(err, "Failed to watch the objects of an authorizer")
			return
		}
		delivered = append(delivered, registration.HasSyncedChecker())
	}
	factory.StartWithContext(ctx)
	if cache.WaitFor(ctx, "", delivered...) {
		close(synced)
	}
	<-ctx.Done()
	factory.Shutdown()
}
