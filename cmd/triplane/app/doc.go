// Package app puts the server together: it joins aggregator, core and
// extensions into a chain, gives them storage, keys and authenticators, and runs
// them.
//
// The command uses it through Run. A program, or a test, that wants a server of
// its own starts one with
//
//	options := app.NewOptions()
//	options.DataDir = t.TempDir()
//	options.SecureServing.BindPort = 0
//	srv, err := app.Start(ctx, options)
//	…
//	defer srv.Stop()
//	client := kubernetes.NewForConfigOrDie(srv.ClientConfig())
//
// Several servers can run side by side in one process.
package app
