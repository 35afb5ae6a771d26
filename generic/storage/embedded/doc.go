// Package embedded runs etcd in this process, as a single member or as one of several, and implements
// storage.Backend with it.
//
// It only listens if Serve is called or Config has a Peer. Requests are function calls of etcd's server, reads
// and watches use its multi-version store directly. For a single member all writes pass through this process
// and are applied before they are acknowledged. The current revision is then always consistent, so that
// Revision costs a lock, and reads need no consensus. With a Peer there may be other members, and consistent
// reads first agree with them.
//
// The files are those of any etcd member. While the server is stopped, an etcd of the same version can open the
// directory or move it into a cluster. A write is acknowledged when it is in the write-ahead log and synced to
// disk.
//
// A directory can be used by one process at a time; Start fails at once if another process uses it. Servers
// with different directories can run in the same process.
package embedded
