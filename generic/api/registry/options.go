package registry

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
	"triplane.dev/generic/storage/wire/protojson"
)

// RESTOptions is what a Store needs of the server's storage.
type RESTOptions struct {
	Backend storage.Backend
	// Cache makes (or finds) the cache of the resource whose keys are below the
	// prefix of its description.
	Cache func(storage.CacheConfig) storage.Cache
	// DropCache, where set, drops the cache below prefix and ends its watches, after its resource was deleted or changed.
	DropCache func(prefix string)
	// Prefix is the absolute key prefix of the server, "/registry".
	Prefix string
	// ResourcePrefix is the key of the resource below Prefix in place of the kind's Prefix; "" is that.
	ResourcePrefix string
	// Budget bounds encoded forms.
	Budget *storage.Budget
	// JSON has the tables that convert stored protobuf to JSON. All kinds share it; nil makes one for each kind.
	JSON *protojson.Types
	// DeleteCollectionWorkers is how many objects a deletecollection deletes at
	// once.
	DeleteCollectionWorkers int
	// Form is how kinds of Go types are stored, if they have it.
	Form wire.StoredForm
	// Uncached has the resource answer as one of which kube-apiserver keeps no watch cache: clients
	// get pages of a list that may be of any version, and they are consistent, rather than the
	// whole list at once; and errors of resource versions are those of the storage itself.
	Uncached bool
	// EventTTL is how long events are kept.
	EventTTL time.Duration
	// DropDisabled, where set, drops the fields of disabled features from an object that a request writes, before the
	// kind's PrepareFor… functions. old is the stored object, nil at creation.
	DropDisabled func(obj, old any)
	// DistinctErrors reports what validation finds twice once.
	DistinctErrors bool
	// StorageVersion, where set, returns in which of a typed kind's versions, the hub first, objects are stored. The
	// empty kind leaves that to the declaration.
	StorageVersion func(versions []schema.GroupVersionKind) schema.GroupVersionKind
}

// RESTOptionsGetter hands out the storage of a resource.
type RESTOptionsGetter interface {
	GetRESTOptions(resource schema.GroupResource) (RESTOptions, error)
}
