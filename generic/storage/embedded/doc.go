// Package embedded runs etcd inside this process, as the only member of its
// cluster or as one of several, and is a storage.Backend on it.
//
// Nothing listens, unless Serve is called or there is a Peer: requests are function calls on the etcd server,
// reads go to its multi-version store, and the watch follows that store directly. Where the member is alone,
// every write of the data directory passes through this process and is applied
// before it is acknowledged, so that the store's current revision is always
// consistent: Revision costs a lock, and reads need no agreement. With a Peer there may be other members, and
// consistent reads agree with them first.
//
// The files are those of any etcd member: with the server stopped, the directory
// can be opened by an etcd of the same version, and moved into a cluster. A write
// is acknowledged when it is in the write-ahead log, synced to the disk.
//
// One process at a time may use a directory; Start returns an error at once when another
// has it. Several servers with directories of their own run side by side.
package embedded
