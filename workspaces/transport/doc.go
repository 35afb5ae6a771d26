// Package transport sends the requests of a client of all workspaces to single ones. A controller lists and watches at
// the URL https://SERVER/workspaces/*, and writes each object to the workspace that its annotation names:
//
//	config.Host += "/workspaces/*"
//	config.Wrap(transport.Wrap)
//	…
//	ctx = transport.In(ctx, object.GetAnnotations()[transport.Annotation])
//	err := client.Update(ctx, object)
package transport
