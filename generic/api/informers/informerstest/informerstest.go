package informerstest

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"triplane.dev/generic/api/informers"
)

// New returns informers of the objects of a tracker, and the tracker, which has the given objects at first.
func New(objects ...runtime.Object) (informers.Shared, clienttesting.ObjectTracker) {
	tracker := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	for _, o := range objects {
		if err := tracker.Add(o); err != nil {
			panic(err)
		}
	}
	return informers.NewRemote(func(kind schema.GroupVersionKind, r schema.GroupVersionResource) cache.ListerWatcher {
		return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return tracker.List(r, kind, metav1.NamespaceAll)
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return tracker.Watch(r, metav1.NamespaceAll)
			},
		}, listing{})
	}), tracker
}

// listing says that a watch of a tracker sends no bookmarks.
type listing struct{}

// IsWatchListSemanticsUnSupported is what client-go asks for.
func (listing) IsWatchListSemanticsUnSupported() bool { return true }
