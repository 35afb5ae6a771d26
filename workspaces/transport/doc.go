// Package transport sends the requests of a client of all workspaces to single ones. A controller lists and watches at
// the URL https://SERVER/workspaces/*, and reads and writes each object in the workspace that its annotation names:
//
//	config.Host += "/workspaces/*"
//	config.Wrap(transport.Wrap)
//	go transport.Follow(ctx, metadata.NewForConfigOrDie(config).Resource(resource), enqueue)
//	…
//	ctx = transport.In(ctx, key.Workspace)
//	err := client.Get(ctx, key.NamespacedName, object)
package transport
