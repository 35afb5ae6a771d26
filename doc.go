// Package app puts the server together: it joins aggregator, core and
// extensions into a chain, gives them storage, keys and authenticators, and runs
// them.
//
// The command uses it through Run. A program, or a test, that wants a server of
// its own starts one with
//
//	options := triplane.NewOptions()
//	options.DataDir = t.TempDir()
//	options.SecureServing.BindPort = 0
//	srv, err := triplane.Start(ctx, options)
//	…
//	defer srv.Stop()
//	client := kubernetes.NewForConfigOrDie(srv.ClientConfig())
//
// Several servers can run side by side in one process.
package triplane
