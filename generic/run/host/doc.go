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
// UntilSignal runs a program until it is asked to end, and meanwhile sets the garbage collector's
// goals and returns memory to the system when the server is idle (memory.go).
//
// Package triplane and package apiserver are made with it.
package host
