package clusterinfo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/authentication"
)

// ConfigMap is the name of the ConfigMap in kube-system.
const ConfigMap = "extension-apiserver-authentication"

// Info is the current content of the ConfigMap. If the ConfigMap is deleted or invalid, the last valid content
// stays in effect. It is safe for concurrent use.
type Info struct {
	// ClientCA and RequestHeaderCA are empty until the ConfigMap is read.
	ClientCA, RequestHeaderCA *authentication.CABundle

	headers atomic.Pointer[authentication.RequestHeaderConfig]
	last    string // resourceVersion of the current content
}

// New returns an Info without authorities.
func New() *Info {
	i := &Info{ClientCA: authentication.NewSetBundle(), RequestHeaderCA: authentication.NewSetBundle()}
	i.headers.Store(&authentication.RequestHeaderConfig{})
	return i
}

// Headers returns the headers of front proxies.
func (i *Info) Headers() *authentication.RequestHeaderConfig { return i.headers.Load() }

// Read reads the ConfigMap once. It must be called before Follow.
func (i *Info) Read(ctx context.Context, client corev1client.ConfigMapsGetter) error {
	c, err := client.ConfigMaps(metav1.NamespaceSystem).Get(ctx, ConfigMap, metav1.GetOptions{})
	if err == nil {
		err = i.use(c)
	}
	if err != nil {
		return fmt.Errorf("config map %s/%s: %w", metav1.NamespaceSystem, ConfigMap, err)
	}
	return nil
}

// Follow applies changes of the ConfigMap until ctx ends.
func (i *Info) Follow(ctx context.Context, client corev1client.ConfigMapsGetter) {
	changed := func(obj any) {
		c, ok := obj.(*corev1.ConfigMap)
		if !ok || c.Name != ConfigMap || c.ResourceVersion == i.last {
			return
		}
		if err := i.use(c); err != nil {
			klog.ErrorS(err, "Failed to load the cluster's authentication configuration, keeping the previous one", "configMap",
				ConfigMap)
		}
	}
	informer := newInformer(client)
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) },
	}); err != nil {
		return // does not happen: the informer has not been stopped
	}
	informer.RunWithContext(ctx)
}

// newInformer returns an informer of the ConfigMap alone.
func newInformer(client corev1client.ConfigMapsGetter) cache.SharedIndexInformer {
	maps, one := client.ConfigMaps(metav1.NamespaceSystem), fields.OneTermEqualSelector("metadata.name", ConfigMap)
	all := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = one.String()
			return maps.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = one.String()
			return maps.Watch(ctx, o)
		},
	}
	lists := cache.ToListWatcherWithWatchListSemantics(all, client)
	return cache.NewSharedIndexInformer(lists, &corev1.ConfigMap{}, 0, nil)
}

// use applies a ConfigMap. On an error nothing is applied.
func (i *Info) use(c *corev1.ConfigMap) error {
	headers := &authentication.RequestHeaderConfig{}
	for key, list := range map[string]*[]string{
		"requestheader-allowed-names": &headers.AllowedNames, "requestheader-username-headers": &headers.UsernameHeaders,
		"requestheader-uid-headers": &headers.UIDHeaders, "requestheader-group-headers": &headers.GroupHeaders,
		"requestheader-extra-headers-prefix": &headers.ExtraHeaderPrefixes,
	} {
		text, ok := c.Data[key]
		if !ok {
			continue
		}
		if err := json.Unmarshal([]byte(text), list); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	clients, proxies := []byte(c.Data["client-ca-file"]), []byte(c.Data["requestheader-client-ca-file"])
	for key, pem := range map[string][]byte{"client-ca-file": clients, "requestheader-client-ca-file": proxies} {
		if err := authentication.NewSetBundle().Set(pem); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	// The headers come first: setting the bundle invalidates cached results that depend on them.
	i.headers.Store(headers)
	i.last = c.ResourceVersion
	if err := i.RequestHeaderCA.Set(proxies); err != nil {
		return err
	}
	return i.ClientCA.Set(clients)
}
