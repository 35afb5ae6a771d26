// Package proxy passes requests to the proxy subresources of pods, services and
// nodes on to an address in the cluster.
package proxy
