package clusterinfo

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"triplane/generic/guard/authentication"
)

// ConfigMap is the name of what is followed, in kube-system.
const ConfigMap = "extension-apiserver-authentication"

// Info is what the config map says, as it is now. A config map that cannot be understood, or is
// gone, leaves in force what was read before. It is safe for concurrent use.
type Info struct {
	// ClientCA and RequestHeaderCA trust nobody before the config map was read.
	ClientCA, RequestHeaderCA *authentication.CABundle

	headers atomic.Pointer[authentication.RequestHeaderConfig]
	last    string // resourceVersion that is in force
}

// New returns what knows nothing yet.
func New() *Info {
	i := &Info{ClientCA: authentication.NewSetBundle(), RequestHeaderCA: authentication.NewSetBundle()}
	i.headers.Store(&authentication.RequestHeaderConfig{})
	return i
}

// Headers are those of front proxies.
func (i *Info) Headers() *authentication.RequestHeaderConfig { return i.headers.Load() }

// Read reads the config map once, before Follow.
func (i *Info) Read(ctx context.Context, client kubernetes.Interface) error {
	c, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, ConfigMap, metav1.GetOptions{})
	if err == nil {
		err = i.use(c)
	}
	if err != nil {
		return fmt.Errorf("config map %s/%s: %w", metav1.NamespaceSystem, ConfigMap, err)
	}
	return nil
}

// Follow puts changes into force until ctx ends.
func (i *Info) Follow(ctx context.Context, client kubernetes.Interface) {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(metav1.NamespaceSystem),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", ConfigMap).String()
		}))
	changed := func(obj any) {
		c, ok := obj.(*corev1.ConfigMap)
		if !ok || c.Name != ConfigMap || c.ResourceVersion == i.last {
			return
		}
		if err := i.use(c); err != nil {
			klog.ErrorS(err, "What the cluster says about authentication cannot be used; what was read before stays in force", "configMap", ConfigMap)
		}
	}
	informer := factory.Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) },
	}); err != nil {
		return // the informer is new
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
}

// use puts a config map into force, all of it or nothing.
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
	// The headers come first: who was taken for a proxy is forgotten with the bundle.
	i.headers.Store(headers)
	i.last = c.ResourceVersion
	if err := i.RequestHeaderCA.Set(proxies); err != nil {
		return err
	}
	return i.ClientCA.Set(clients)
}
