// Package service is the Service: its declaration, the rules for its writes, the
// allocation of its cluster IPs and node ports, its table and its proxy.
//
// A write that fails gives back what was allocated for it. Where the process ended in between, the
// repair of package allocator frees it.
package service
