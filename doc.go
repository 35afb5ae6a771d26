// Package triplane puts the server together: it joins aggregator, core and
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
//
// A program extends its server by fields of Options without flags: AddAdmissionPlugins adds admission plugins,
// ServerRun.BuildHandlerChain changes the filters that requests pass, Etcd.Backend and Etcd.Storage give all or single
// resources another storage, key, version or encoding. API groups of a program's own are made with package apiserver.
package triplane
