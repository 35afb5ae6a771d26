package nodeauthorizer

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/api/informers"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/internal/worker"
)

// FirstSync bounds how long a node's first requests wait for the objects that the decision depends on.
const FirstSync = 10 * time.Second

// OnDemand is an Authorizer that watches its objects from the first request of a node, because the watch duplicates the
// pods in memory. It is safe for concurrent use.
type OnDemand struct {
	*Authorizer
	serves   func(version schema.GroupVersion, resource string) bool
	features Features
	objects  *worker.OnDemand
}

// NewOnDemand returns an authorizer that decides by the objects of the resources that serves reports.
func NewOnDemand(serves func(schema.GroupVersion, string) bool, f Features) *OnDemand {
	return &OnDemand{Authorizer: New(f), serves: serves, features: f, objects: worker.NewOnDemand()}
}

// Authorize implements authorizer.Authorizer.
func (n *OnDemand) Authorize(ctx context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if _, ok := Name(a.User); !ok {
		return authorizer.NoOpinion, "", nil
	}
	_ = n.objects.Wait(ctx, FirstSync) // afterwards it decides by the objects that are known
	return n.Authorizer.Authorize(ctx, a)
}

// Run watches the objects until ctx is done, starting with the first request of a node.
func (n *OnDemand) Run(ctx context.Context, factory *informers.Factory) {
	select {
	case <-n.objects.Wanted():
		n.follow(ctx, factory)
	case <-ctx.Done():
	}
}

// kinds returns the informers of the served resources that the decision depends on.
func (n *OnDemand) kinds(factory *informers.Factory) []cache.SharedIndexInformer {
	var kinds []cache.SharedIndexInformer
	if n.serves(corev1.SchemeGroupVersion, "pods") {
		pods := factory.InformerFor(&corev1.Pod{})
		if err := pods.SetTransform(Trim); err != nil {
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

// follow passes the events of informers to the authorizer until ctx is done.
func (n *OnDemand) follow(ctx context.Context, factory *informers.Factory) {
	var delivered []cache.DoneChecker
	for _, informer := range n.kinds(factory) {
		registration, err := informer.AddEventHandler(n.Handler())
		if err != nil {
			klog.ErrorS(err, "Failed to watch the objects of the node authorizer")
			return
		}
		delivered = append(delivered, registration.HasSyncedChecker())
	}
	factory.StartWithContext(ctx)
	if cache.WaitFor(ctx, "", delivered...) {
		n.objects.Ready()
	}
	<-ctx.Done()
	factory.Shutdown()
}
