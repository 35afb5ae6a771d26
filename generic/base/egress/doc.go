// Package egress opens the server's outgoing connections as the egress selector configuration defines
// (KEP-1281): directly, through a proxy with HTTP CONNECT, or through a konnectivity server over gRPC.
//
// There are three types of destinations: the cluster (kubelets, pods, Services, and the webhooks and API
// servers behind Services), the control plane (webhooks with a URL) and etcd. A Selector has a Dial for each
// type. Without a configuration for its type it connects directly.
//
// ResolveRequests is for webhooks behind Services: each request goes to the address of the Service at its time.
//
// The proxy resolves host names. The caller of a Dial owns the connection. Selector.Close also closes
// connections through konnectivity.
package egress
