package storageoptions

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/encryption"
	"triplane.dev/generic/storage/observed"
	"triplane.dev/generic/storage/overlay"
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
func (o *Etcd) RESTOptionsGetter(stores Stores) *RESTOptions {
	return &RESTOptions{stores: stores, overrides: o.Storage, common: registry.RESTOptions{
		Prefix:                  o.AbsolutePrefix(),
		Budget:                  storage.NewBudget(0),
		StorageOptions:          kind.StorageOptions{Form: storedForms[o.MediaType], Types: kind.NewTypes()},
		DeleteCollectionWorkers: o.DeleteCollectionWorkers,
		EventTTL:                o.EventTTL,
		Uncached:                !o.WatchCache,
	}}
}

// Below returns the storage options of a second set of resources, whose keys are below a path of two segments,
// ".DIRECTORY/NAME", with default objects; nil is none. All are in the default store, and share the budget.
func (o *RESTOptions) Below(path string, defaults *overlay.Defaults) *RESTOptions {
	below := *o
	below.defaults = defaults
	below.stores.Default.Multiplexer, below.stores.Overrides = o.stores.Default.Multiplexer.Child(path), nil
	below.common.Directory = "/" + path
	below.common.Prefix += below.common.Directory
	return &below
}

// Through returns the storage options of resources in the default store that are read through a view of the backend of
// each, and followed by m. The view is given the backend once more if that decodes changes.
func (o *RESTOptions) Through(m *cache.Multiplexer, view func(storage.Backend, cache.View) cache.View) *RESTOptions {
	through := *o
	through.stores.Default.Multiplexer, through.stores.Overrides = m, nil
	through.view, through.common.SharedNames = view, true
	return &through
}

// RESTOptions has the options that all resources share, and the store of each one. It implements
// registry.RESTOptionsGetter.
type RESTOptions struct {
	stores    Stores
	common    registry.RESTOptions
	overrides map[schema.GroupResource]StorageOverride
	defaults  *overlay.Defaults
	view      func(storage.Backend, cache.View) cache.View // nil outside Through
}

// GetRESTOptions implements registry.RESTOptionsGetter.
func (o *RESTOptions) GetRESTOptions(resource schema.GroupResource) (registry.RESTOptions, error) {
	store, ok := o.stores.Overrides[resource]
	if !ok {
		store = o.stores.Default
	}
	opts, config := o.common, cache.Config{}
	opts.Resource = resource
	o.overrides[resource].apply(&opts)
	opts.Backend = store.Backend
	if m := o.stores.Metrics; m != nil {
		opts.Backend = observed.New(store.Backend, m, resource.Group, resource.Resource)
	}
	if o.stores.Encryption != nil {
		config.View = o.stores.Encryption.View(opts.Backend, resource)
		opts.Backend = config.View
	}
	if d := o.defaults; d.Has(resource) {
		config.View = d.Over(opts.Backend, opts.Prefix+"/")
		opts.Backend, opts.Decoded = config.View, d.Decoded
	}
	if o.view != nil {
		config.View = o.view(opts.Backend, config.View)
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
