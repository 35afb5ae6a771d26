package cache

import "triplane/generic/storage"

// Config describes the cache of one resource.
type Config struct {
	// Prefix is the absolute prefix of the resource's keys, with a trailing
	// slash: "/registry/pods/", "/registry/example.com/widgets/".
	Prefix string
	// Namespaced says that a namespace follows the prefix in each key.
	Namespaced bool
	// Attributes decodes what selectors look at. It is called only when a
	// selector is used, at most about once a record, and concurrently.
	Attributes func(*storage.Record) (storage.Attributes, error)
	// IndexField, if set, is a field that many watches select one value of
	// (spec.nodeName of pods): an event then concerns only the watches of its
	// value.
	IndexField string
}
