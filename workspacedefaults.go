package triplane

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	flowv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/aggregator"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/generic/storage/overlay"
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/group"
	"triplane.dev/workspaces"
)

// sharedResources are the built-in resources whose default objects all workspaces share.
var sharedResources = []schema.GroupResource{
	rbacv1.Resource("clusterroles"), rbacv1.Resource("clusterrolebindings"), rbacv1.Resource("roles"),
	rbacv1.Resource("rolebindings"), schedulingv1.Resource("priorityclasses"), flowv1.Resource("flowschemas"),
	flowv1.Resource("prioritylevelconfigurations"),
}

// defaultsTimeout bounds the creation of the default objects in memory.
const defaultsTimeout = 30 * time.Second

// newDefaults returns a function that returns the default objects of workspaces. The first call creates them.
func newDefaults(f *foundation, g *guards) func() (*options.Defaults, error) {
	var mu sync.Mutex
	var made *options.Defaults
	return func() (*options.Defaults, error) {
		mu.Lock()
		defer mu.Unlock()
		var err error
		if made == nil {
			made, err = makeDefaults(f, g)
		}
		return made, err
	}
}

// makeDefaults creates the objects that a new server creates, in memory. They are as old as the root's namespace
// kube-system, and their UIDs are derived from its UID, so that all replicas show the same objects after each start.
func makeDefaults(f *foundation, g *guards) (*options.Defaults, error) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultsTimeout)
	var running worker.Group
	defer running.Wait()
	defer cancel()
	ctx = request.WithUser(ctx, &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
	age, err := f.stores.Namespaces().GetConsistent(ctx, "", metav1.NamespaceSystem)
	if err != nil {
		return nil, fmt.Errorf("default objects of workspaces: %w", err)
	}
	prefix := f.options.Etcd.AbsolutePrefix()
	backend := memory.New()
	defer func() { _ = backend.Close() }() // nothing is kept
	mux := cache.NewMultiplexer(backend, prefix)
	running.Go(func() { _ = mux.Run(ctx) }) // ends with ctx
	stores, err := writeDefaults(ctx, f, g, options.Store{Backend: backend, Multiplexer: mux})
	if err != nil {
		return nil, fmt.Errorf("default objects of workspaces: %w", err)
	}
	values, resources := map[string][]byte{}, map[schema.GroupResource]bool{}
	for gr, store := range stores {
		resources[gr] = true
		page, err := backend.Range(ctx, storage.RangeOptions{Prefix: store.KeyPrefix()})
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			kv := &page.Items[i]
			key := strings.TrimPrefix(kv.Key, prefix+"/")
			if values[key], err = store.Rewrite(&storage.Record{Key: kv.Key, Value: kv.Value, Revision: kv.Revision},
				func(o metav1.Object) { setOrigin(o, age, key) }); err != nil {
				return nil, err
			}
		}
	}
	return &options.Defaults{Defaults: overlay.New(values), Resources: resources}, nil
}

// writeDefaults creates the default objects in a storage. It returns their stores.
func writeDefaults(ctx context.Context, f *foundation, g *guards,
	in options.Store) (map[schema.GroupResource]registry.AnyStore, error) {
	storages := f.options.Etcd.RESTOptionsGetter(options.Stores{Default: in})
	w := *f
	w.stores = group.NewStoresLike(f.stores.Outline())
	w.config = (&workspaces.Inputs{}).ServerConfig(f.config, storages, nil)
	deps, err := newGroupDeps(&w, g.authn)
	if err != nil {
		return nil, err
	}
	if err := kubeapi.WriteDefaults(ctx, &kubeapi.Config{Generic: w.config, Groups: deps,
		SimulateWorkloads: f.options.Controllers.SimulateWorkloads}); err != nil {
		return nil, err
	}
	stores := map[schema.GroupResource]registry.AnyStore{}
	for _, gr := range sharedResources {
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

// setOrigin makes an object as old as a namespace, with a UID that is derived from the namespace's and from its key.
func setOrigin(o metav1.Object, age *corev1.Namespace, key string) {
	created := age.CreationTimestamp
	o.SetCreationTimestamp(created)
	o.SetUID(types.UID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(string(age.UID)+"/"+key)).String()))
	fields := o.GetManagedFields()
	for i := range fields {
		fields[i].Time = &created
	}
	o.SetManagedFields(fields)
	if s, ok := o.(*apiregistrationv1.APIService); ok {
		for i := range s.Status.Conditions {
			s.Status.Conditions[i].LastTransitionTime = created
		}
	}
}
