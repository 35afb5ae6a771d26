package registry

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/storage"
)

// RESTOptions is what a Store needs of the server's storage.
type RESTOptions struct {
	// StorageOptions are those that decide how objects are encoded.
	kind.StorageOptions

	Backend storage.Backend
	// Cache makes (or finds) the cache of the resource whose keys are below the
	// prefix of its description.
	Cache func(storage.CacheConfig) storage.Cache
	// DropCache, where set, drops the cache below prefix and ends its watches, after its resource was deleted or changed.
	DropCache func(prefix string)
	// Prefix is the absolute key prefix of the server, "/registry".
	Prefix string
	// Directory is the end of Prefix that errors do not show: "/.workspaces/NAME.UID" in one of several servers.
	Directory string
	// ResourcePrefix is the key of the resource below Prefix in place of the kind's Prefix; "" is that.
	ResourcePrefix string
	// Budget bounds encoded forms.
	Budget *storage.Budget
	// DeleteCollectionWorkers is how many objects a deletecollection deletes at
	// once.
	DeleteCollectionWorkers int
	// Uncached has the resource answer as one of which kube-apiserver keeps no watch cache: clients
	// get pages of a list that may be of any version, and they are consistent, rather than the
	// whole list at once; and errors of resource versions are those of the storage itself.
	Uncached bool
	// EventTTL is how long events are kept.
	EventTTL time.Duration
	// DropDisabled, where set, drops the fields of disabled features from an object that a request writes, before the
	// kind's Prepare function. old is the stored object, nil at creation.
	DropDisabled func(obj, old any)
	// Decoded, if set, returns the object of a value, which others may have, too, or the result of decode.
	Decoded func(value []byte, decode func() (runtime.Object, error)) (runtime.Object, error)
	// SharedNames is set if several objects of a namespace may have the same name, so that a name is not a key.
	SharedNames bool
	// DistinctErrors reports what validation finds twice once.
	DistinctErrors bool
}

// RESTOptionsGetter hands out the storage of a resource.
type RESTOptionsGetter interface {
	GetRESTOptions(resource schema.GroupResource) (RESTOptions, error)
}
