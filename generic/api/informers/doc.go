// Package informers serves client-go's informers from the watch caches of this process.
//
// A Factory has an informer for each Go type. Components take the interface Shared, and work beside a remote API
// server with a Remote as well. An Informer lists and watches no API: it follows the cache of a resource (package
// follow), so it needs no connection and no goroutine while nothing changes.
//
//	factory := informers.NewFactory(find)
//	factory.InformerFor(&rbacv1.ClusterRole{}).AddEventHandler(handler)
//	factory.StartWithContext(ctx)
//
// The generated factory of client-go has the informers of all kinds, which are a third of what the program would
// have to compile.
//
// Objects have the Go type of the hub version, whatever versions are served. Objects that cannot be decoded are
// omitted.
package informers
