// Package triplane assembles the server. It chains aggregator, core and extensions, provides them with storage,
// keys and authenticators, and runs them.
//
// The command uses it through Run. A program or a test starts a server with
//
//	options := triplane.NewOptions()
//	options.DataDir = t.TempDir()
//	options.SecureServing.BindPort = 0
//	srv, err := triplane.Start(ctx, options)
//	…
//	defer srv.Stop()
//	client := kubernetes.NewForConfigOrDie(srv.ClientConfig())
//
// Several servers can run in one process.
//
// Fields of Options without flags extend the server: AddAdmissionPlugins adds admission plugins,
// ServerRun.BuildHandlerChain changes the filter chain, and Etcd.Backend and Etcd.Storage configure the storage, key,
// version or encoding of all or single resources. Package apiserver adds API groups.
package triplane
