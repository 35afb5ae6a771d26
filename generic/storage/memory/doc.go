// Package memory is a storage.Backend that keeps its keys in the memory of this process:
// for servers that live as long as a test.
//
// It answers as etcd does (package etcd tests all backends with the same cases):
// revisions begin at 1 and grow by one a write, each key has the versions that are not
// compacted, watches read one log of changes. A write costs a map entry, and no watch and
// no key costs a goroutine. What is written is gone with the Backend.
package memory
