// Package resource declares the kinds of the group resource.k8s.io, dynamic
// resource allocation (KEP 4381): DeviceClass, ResourceClaim, ResourceClaimTemplate
// and ResourceSlice in v1 and its betas and, where their features are on,
// DeviceTaintRule and ResourcePoolStatusRequest.
//
// The specification of a claim is fixed. The status carries the allocation, which is
// validated against the requests of the claim and does not change while it lasts,
// and the pods that it is reserved for. Selectors are CEL expressions that are
// compiled, and whose cost is estimated, when they are written. Admin access takes a
// namespace with the label resource.kubernetes.io/admin-access.
package resource
