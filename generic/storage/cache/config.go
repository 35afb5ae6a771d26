package cache

import "triplane/generic/storage"

// Config describes a cache of a Multiplexer.
type Config struct {
	storage.CacheConfig
	// View, where set, reads what the multiplexer's backend holds of the resource.
	View View
}

// View is a backend of one resource whose values are stored in another form than
// they are read in, such as encrypted.
type View interface {
	storage.Backend
	// Decode turns a change of the underlying backend into the view's. A Previous
	// that cannot be decrypted is left out.
	//
	//   - *storage.TransformError: the change's new value cannot be decrypted.
	Decode(change *storage.Change) error
}
