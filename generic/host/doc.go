// Package host is what a process does around its servers, whichever they are: it reads the
// command line and sets the log up, holds the data directory, opens storage and gives it to a
// server's configuration, and runs the outermost server until it is stopped.
//
//	undo.Add(…)                              // what was opened, in order
//	store, err := OpenStore(ctx, …)          // embedded, in memory, or an etcd cluster
//	objects, err := store.InstallIn(config, …)
//	running := Run(ctx, prepared, store, undo)
//	err = running.AwaitReady(ctx)
//	err = running.Stop()                     // nothing is left when it returns
//
// cmd/triplane/app and apiserver are made with it.
package host
