// Package memory implements storage.Backend in the memory of the process, for servers in tests.
//
// It behaves like etcd (package etcd runs the same tests for all backends): revisions begin at 1 and increase
// by one per write, keys have versions until compaction, watches read a log of changes. A write costs a map
// entry. Neither watches nor keys need a goroutine. Nothing is persisted.
package memory
