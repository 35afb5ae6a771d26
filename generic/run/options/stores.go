package options

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/encryption"
	"triplane.dev/generic/storage/observed"
	"triplane.dev/generic/storage/wire/protojson"
)

// Store is an open etcd with the watch multiplexer of its resources.
type Store struct {
	Backend     storage.Backend
	Multiplexer *cache.Multiplexer
}

// Stores maps resources to their storage and encryption.
type Stores struct {
	Default Store
	// Overrides are the stores of individual resources.
	Overrides map[schema.GroupResource]Store
	// Encryption encrypts values; nil stores them unencrypted.
	Encryption *encryption.Providers
	// Metrics counts the storage requests of each resource; nil counts nothing.
	Metrics *observed.Metrics
}

// RESTOptionsGetter returns the storage options of resources.
func (o *Etcd) RESTOptionsGetter(stores Stores) registry.RESTOptionsGetter {
	return restOptions{stores: stores, overrides: o.Storage, common: registry.RESTOptions{
		Prefix:                  o.AbsolutePrefix(),
		Budget:                  storage.NewBudget(0),
		StorageOptions:          kind.StorageOptions{Form: storedForms[o.MediaType], JSON: protojson.NewTypes()},
		DeleteCollectionWorkers: o.DeleteCollectionWorkers,
		EventTTL:                o.EventTTL,
		Uncached:                !o.WatchCache,
	}}
}

// restOptions has the options that all resources share, and the store of each one.
type restOptions struct {
	stores    Stores
	common    registry.RESTOptions
	overrides map[schema.GroupResource]StorageOverride
}

// GetRESTOptions implements registry.RESTOptionsGetter.
func (o restOptions) GetRESTOptions(resource schema.GroupResource) (registry.RESTOptions, error) {
	store, ok := o.stores.Overrides[resource]
	if !ok {
		store = o.stores.Default
	}
	opts, config := o.common, cache.Config{}
	o.overrides[resource].apply(&opts)
	opts.Backend = store.Backend
	if m := o.stores.Metrics; m != nil {
		opts.Backend = observed.New(store.Backend, m, resource.Group, resource.Resource)
	}
	if o.stores.Encryption != nil {
		config.View = o.stores.Encryption.View(opts.Backend, resource)
		opts.Backend = config.View
	}
	opts.Cache = func(c storage.CacheConfig) storage.Cache {
		config := config
		config.CacheConfig = c
		return store.Multiplexer.Cache(config)
	}
	opts.DropCache = store.Multiplexer.Drop
	return opts, nil
}
