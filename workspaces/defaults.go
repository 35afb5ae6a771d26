package workspaces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
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
	// Write creates the objects in a storage, and returns their stores. created is the time of their creation.
	Write func(ctx context.Context, in storageoptions.Store, created time.Time) (
		map[schema.GroupResource]registry.AnyStore, error)
	// Own are the resources whose objects have other UIDs in each workspace, and are as old as the workspace.
	Own []schema.GroupResource
}

// Defaults are the default objects of workspaces.
type Defaults struct {
	// Policy has those of RBAC.
	Policy *rbac.Authorizer

	shared *overlay.Defaults
	own    []ownDefault
}

// ownDefault is a default object that each workspace has with its own UID and age.
type ownDefault struct {
	key    string // relative
	record *storage.Record
	store  registry.AnyStore
}

// Of returns the default objects of a workspace. Those of DefaultsConfig.Own have UIDs that are derived from the
// workspace's.
func (d *Defaults) Of(in *Inputs) (*overlay.Defaults, error) {
	own := make(map[string][]byte, len(d.own))
	for i := range d.own {
		o := &d.own[i]
		value, err := o.store.Rewrite(o.record, func(to metav1.Object) { setOrigin(to, in.origin, o.key) })
		if err != nil {
			return nil, fmt.Errorf("default object %s: %w", o.key, err)
		}
		own[o.key] = value
	}
	return d.shared.With(own), nil
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
	stores, err := c.Write(ctx, storageoptions.Store{Backend: backend, Multiplexer: mux},
		age.CreationTimestamp.Time)
	if err != nil {
		return nil, fmt.Errorf("default objects of workspaces: %w", err)
	}
	defaults, values, resources := &Defaults{Policy: rbac.New()}, map[string][]byte{}, map[schema.GroupResource]bool{}
	for gr, store := range stores {
		resources[gr] = true
		page, err := backend.Range(ctx, storage.RangeOptions{Prefix: store.KeyPrefix()})
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			kv := &page.Items[i]
			key := strings.TrimPrefix(kv.Key, c.Prefix+"/")
			r, err := defaults.add(kv, store, origin{age.UID, age.CreationTimestamp}, key)
			if err != nil {
				return nil, err
			}
			values[key] = r.Value()
			if slices.Contains(c.Own, gr) {
				defaults.own = append(defaults.own, ownDefault{key, r, store})
			}
		}
	}
	defaults.shared = overlay.New(values, resources)
	return defaults, nil
}

// add sets the origin of a default object, adds the object to the policy, and returns its record.
func (d *Defaults) add(kv *storage.KeyValue, store registry.AnyStore, from origin,
	key string) (*storage.Record, error) {
	found := storage.NewRecord(kv.Key, kv.Value, kv.Revision)
	value, err := store.Rewrite(found, func(o metav1.Object) { setOrigin(o, from, key) })
	if err != nil {
		return nil, err
	}
	r := storage.NewRecord(kv.Key, value, overlay.Revision)
	o, err := store.DecodeShared(r)
	if err == nil {
		d.Policy.Set(o)
	}
	return r, err
}

// origin is what default objects are derived from: the namespace kube-system of the root, or a workspace.
type origin struct {
	uid     types.UID
	created metav1.Time
}

// setOrigin makes an object as old as its origin, with a UID that is derived from the origin's and from its key.
func setOrigin(o metav1.Object, from origin, key string) {
	created := from.created
	o.SetCreationTimestamp(created)
	o.SetUID(types.UID(uuid.NewSHA1(uuid.NameSpaceOID, []byte(string(from.uid)+"/"+key)).String()))
	fields := o.GetManagedFields()
	for i := range fields {
		fields[i].Time = &created
	}
	o.SetManagedFields(fields)
	switch o := o.(type) {
	case *apiregistrationv1.APIService:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = created
		}
	case *networkingv1.ServiceCIDR:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].LastTransitionTime = created
		}
	}
}
