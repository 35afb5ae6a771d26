package workspaces

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authorization/rbac"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/generic/storage/overlay"
	"triplane.dev/internal/worker"
)

// defaultsTimeout bounds the creation of the default objects in memory.
const defaultsTimeout = 30 * time.Second

// DefaultsConfig is what creates the default objects of workspaces.
type DefaultsConfig struct {
	// Prefix is that of the root's keys.
	Prefix string
	// Age returns the root's namespace kube-system.
	Age func(context.Context) (*corev1.Namespace, error)
	// Write creates the objects in a storage, and returns their stores.
	Write func(ctx context.Context, in storageoptions.Store) (map[schema.GroupResource]registry.AnyStore, error)
}

// Defaults are the default objects of workspaces.
type Defaults struct {
	*overlay.Defaults
	// Policy has those of RBAC.
	Policy *rbac.Authorizer
}

// NewDefaults returns a function that returns the default objects of workspaces. The first call creates them. It is
// safe for concurrent use.
func NewDefaults(c DefaultsConfig) func() (*Defaults, error) {
	var mu sync.Mutex
	var made *Defaults
	return func() (*Defaults, error) {
		mu.Lock()
		defer mu.Unlock()
		var err error
		if made == nil {
			made, err = c.make()
		}
		return made, err
	}
}

// make creates the objects that a new server creates, in memory. They are as old as the root's namespace
// kube-system, and their UIDs are derived from its UID, so that all replicas show the same objects after each start.
func (c *DefaultsConfig) make() (*Defaults, error) {
	ctx, cancel := context.WithTimeout(context.Background(), defaultsTimeout)
	var running worker.Group
	defer running.Wait()
	defer cancel()
	ctx = request.WithUser(ctx, &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
	age, err := c.Age(ctx)
	if err != nil {
		return nil, fmt.Errorf("default objects of workspaces: %w", err)
	}
	backend := memory.New()
	defer func() { _ = backend.Close() }() // nothing is kept
	mux := cache.NewMultiplexer(backend, c.Prefix)
	running.Go(func() { _ = mux.Run(ctx) }) // ends with ctx
	stores, err := c.Write(ctx, storageoptions.Store{Backend: backend, Multiplexer: mux})
	if err != nil {
		return nil, fmt.Errorf("default objects of workspaces: %w", err)
	}
	values, resources, policy := map[string][]byte{}, map[schema.GroupResource]bool{}, rbac.New()
	for gr, store := range stores {
		resources[gr] = true
		page, err := backend.Range(ctx, storage.RangeOptions{Prefix: store.KeyPrefix()})
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			kv := &page.Items[i]
			key := strings.TrimPrefix(kv.Key, c.Prefix+"/")
			r := &storage.Record{Key: kv.Key, Value: kv.Value, Revision: kv.Revision}
			if r.Value, err = store.Rewrite(r, func(o metav1.Object) { setOrigin(o, age, key) }); err != nil {
				return nil, err
			}
			values[key], r.Revision = r.Value, overlay.Revision
			o, err := store.DecodeShared(r)
			if err != nil {
				return nil, err
			}
			policy.Set(o)
		}
	}
	return &Defaults{overlay.New(values, resources), policy}, nil
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
