// Package garbage deletes objects whose owners are gone, and carries out the propagation
// policy of a deletion: orphan the dependents, or delete them first.
//
// The graph holds objects that have owners, the owners that they name, and objects
// that wait for the collector; no others. An owner that a dependent names is virtual until
// it was seen, in a change or by a read, at the coordinates of the reference with the UID
// of the reference. A reference with other coordinates is another owner: that one can be
// absent without harm to dependents whose reference is right.
//
// An object is deleted when all of its owners are known to be absent, or wait for
// their dependents to go first, with preconditions on its UID and its resource
// version, so that the references that led to the deletion are still the present ones. A
// reference into another namespace is one to an absent owner; one from a cluster-scoped
// object to an owner in a namespace cannot be resolved, and keeps the object. Both
// are reported by an event, OwnerRefInvalidNamespace.
package garbage
