// Package garbage deletes objects whose owners are gone, and carries out what a
// deletion says of dependents: orphan them, or delete them first.
//
// The graph holds objects that have owners, the owners that they name, and objects
// that wait for the collector; all others leave no trace in it. An owner that a
// dependent names is virtual until it was seen, in a change or by a read, at the
// coordinates of the reference with the UID of the reference. A reference with
// other coordinates is another owner: it can be absent without harm to those
// whose reference is right.
//
// An object is deleted when all of its owners are known to be absent, or wait for
// their dependents to go first, with preconditions on its UID and its resource
// version, so that nobody has changed the references that led to it. A reference
// into another namespace is one to an absent owner; one from a cluster-scoped
// object to an owner in a namespace cannot be resolved, and keeps the object. Both
// are said in an event, OwnerRefInvalidNamespace.
package garbage
