// Package copying copies the current keys of a store to another one, with their values, revisions and times to live:
// from an etcd cluster, the embedded etcd or a PostgreSQL database to a database, a snapshot of etcd, or the data of an
// embedded etcd.
//
// A Source passes its keys in order, all of one revision. A Target receives them. A copy to a database compares each
// page with what is there, so that an interrupted copy can be repeated, and a repeated one copies what has changed.
// Run reads both afterwards and compares the number of keys and a digest.
package copying
