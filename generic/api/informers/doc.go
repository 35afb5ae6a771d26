// Package informers serves client-go's informers from the watch caches of this process.
//
// A Factory is a SharedInformerFactory for the generated informers of client-go: components take those, and work
// beside a remote API server with the factory of client-go as well. An Informer lists and watches no API: it follows
// the cache of a resource (package follow), so it needs no connection and no goroutine while nothing changes.
//
//	factory := informers.NewFactory(find)
//	roles := rbacinformers.New(factory, metav1.NamespaceAll, nil).V1().ClusterRoles()
//	roles.Informer().AddEventHandler(handler)
//	factory.StartWithContext(ctx)
//
// Objects have the Go type of the hub version, whatever versions are served. Objects that cannot be decoded are
// omitted.
package informers
