// Package garbage deletes objects whose owners were deleted, and implements the propagation policies of deletions:
// it orphans dependents, or deletes them first.
//
// The graph contains objects with owners, the owners to which they refer, and objects that wait for the collector.
// An owner is virtual until it was observed, in a change or by a read, at the coordinates of the reference with
// its UID. A reference with other coordinates is a different owner: its absence does not affect dependents with
// correct references.
//
// An object is deleted when all of its owners are known to be absent, or wait for the deletion of their
// dependents. The deletion has preconditions on UID and resource version, so that the references are still
// current. A reference to another namespace refers to an absent owner. A reference from a cluster-scoped object to
// a namespaced owner cannot be resolved, and the object is kept. Both are reported by the event
// OwnerRefInvalidNamespace.
package garbage
