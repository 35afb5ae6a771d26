package follow

import (
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/storage"
)

// Source is the storage of a resource. Every registry.Store is one.
type Source interface {
	// Cache has the records of the resource; KeyPrefix is the prefix of their keys. The rest of a key is the object's
	// "NAMESPACE/NAME", or "NAME" without a namespace.
	Cache() storage.Cache
	KeyPrefix() string
	// DecodeShared returns an object that others may have, too, or an error if it cannot be decrypted or decoded.
	DecodeShared(r *storage.Record) (runtime.Object, error)
}
