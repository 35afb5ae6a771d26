// Package egress opens the server's connections to others, by the way that the
// egress selector's configuration says (KEP 1281): directly, through a proxy that
// speaks HTTP CONNECT, or through a konnectivity server over gRPC.
//
// Destinations are of three kinds: the cluster (kubelets, pods, Services, and the
// webhooks and API servers behind Services), the control plane (webhooks by URL)
// and etcd. A Selector has a Dial for each; those that the configuration does not
// name connect directly.
//
// Names are resolved by the proxy. A connection belongs to who asked for it; Close of
// the Selector ends those through konnectivity that are still open.
package egress
