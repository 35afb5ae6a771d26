package cache

import "triplane.dev/generic/storage"

// Config configures a cache of a Multiplexer.
type Config struct {
	storage.CacheConfig
	// View, if set, reads and writes the values of the resource in place of the multiplexer's backend.
	View View
}

// View is a backend for one resource that transforms values, for example encrypts them.
type View interface {
	storage.Backend
	// Decode transforms a change of the underlying backend in place. It omits a Previous that cannot be
	// decrypted.
	//
	//   - *storage.TransformError: the change's new value cannot be decrypted.
	Decode(change *storage.Change) error
}
