// Package networking declares the kinds of the group networking.k8s.io/v1: Ingress,
// IngressClass, NetworkPolicy, IPAddress and ServiceCIDR.
//
// An IPAddress is named by the address in its canonical form, so that storage itself
// keeps two owners from having it; the allocator of Services writes and deletes
// them. The range of a ServiceCIDR is fixed. Ingresses that name their class in the
// annotation of the time before the field are accepted with a warning.
package networking
