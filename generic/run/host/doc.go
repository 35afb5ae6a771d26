// Package host has what a process needs around its servers. It parses the command line, configures the log, locks
// the data directory, opens storage, and runs the outermost server until it is stopped.
//
//	undo.Add(…)                              // what was opened, in order
//	store, err := OpenStore(ctx, …)          // embedded, in memory, or an etcd cluster
//	objects, err := store.InstallIn(config, …)
//	running := Run(ctx, prepared, store, undo)
//	err = running.AwaitReady(ctx)
//	err = running.Stop()                     // when it returns, everything is closed
//
// UntilSignal runs a program until a termination signal. It also tunes the garbage collector and returns memory to
// the system while the server is idle (memory.go).
//
// The packages triplane and apiserver are built on it.
package host
