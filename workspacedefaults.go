package triplane

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	flowv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/aggregator"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/controllers"
	"triplane.dev/kubeapi/group"
	"triplane.dev/workspaces"
)

// sharedResources are the built-in resources whose default objects all workspaces share.
var sharedResources = []schema.GroupResource{
	rbacv1.Resource("clusterroles"), rbacv1.Resource("clusterrolebindings"), rbacv1.Resource("roles"),
	rbacv1.Resource("rolebindings"), corev1.Resource("configmaps"), schedulingv1.Resource("priorityclasses"),
	flowv1.Resource("flowschemas"), flowv1.Resource("prioritylevelconfigurations"), corev1.Resource("services"),
	networkingv1.Resource("servicecidrs"), networkingv1.Resource("ipaddresses"),
}

// ownResources are those whose default objects have other UIDs in each workspace.
var ownResources = []schema.GroupResource{corev1.Resource("namespaces"), corev1.Resource("serviceaccounts")}

// newDefaults returns a function that returns the default objects of workspaces.
func newDefaults(f *foundation, g *guards) func() (*workspaces.Defaults, error) {
	return workspaces.NewDefaults(workspaces.DefaultsConfig{
		Prefix: f.options.Etcd.AbsolutePrefix(),
		Age: func(ctx context.Context) (*corev1.Namespace, error) {
			return group.Namespaces(f.stores).GetConsistent(ctx, "", metav1.NamespaceSystem)
		},
		Write: func(ctx context.Context, in storageoptions.Store, created time.Time) (
			map[schema.GroupResource]registry.AnyStore, error) {
			return writeDefaults(ctx, f, g, in, created)
		},
		Own: ownResources,
	})
}

// writeDefaults creates the default objects in a storage. It returns their stores.
func writeDefaults(ctx context.Context, f *foundation, g *guards, in storageoptions.Store,
	created time.Time) (map[schema.GroupResource]registry.AnyStore, error) {
	storages := f.options.Etcd.RESTOptionsGetter(storageoptions.Stores{Default: in})
	w := *f
	w.stores = group.NewStoresLike(f.stores.Outline())
	w.config = (&workspaces.Inputs{}).ServerConfig(f.config, storages, nil)
	config, err := newKubeConfig(&w, g, w.config)
	if err == nil {
		err = kubeapi.WriteDefaults(ctx, config, created)
	}
	var options controllers.Options
	if err == nil {
		options, err = newControllerOptions(f, g.authn, f.options.Controllers.selection(f.options.Etcd.Embedded()))
	}
	if err == nil {
		err = controllers.WriteDefaults(ctx, w.stores, &options)
	}
	if err != nil {
		return nil, err
	}
	stores := map[schema.GroupResource]registry.AnyStore{}
	for _, gr := range slices.Concat(sharedResources, ownResources) {
		if store := w.stores.Store(gr); store != nil {
			stores[gr] = store
		}
	}
	local := f.config.Discovery.Versions()
	for i := len(local) - 1; i >= 0; i-- {
		if local[i].Custom || local[i].GroupVersion == workspaces.GroupVersion {
			local = slices.Delete(local, i, i+1)
		}
	}
	services, err := aggregator.WriteLocal(ctx, f.kinds.registration, storages, local)
	stores[apiregistrationv1.Resource("apiservices")] = services
	return stores, err
}
