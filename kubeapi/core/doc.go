// Package core is the core API group, v1: one file a kind. Pods' spec rules are
// in podspec, the allocation of cluster IPs and node ports in allocator.
package core
