// Package soak runs the built server for as long as one likes while it is killed, cut off, starved and
// flooded, and holds what it answers against what it must answer.
//
//	make soak                            # a minute and a half each, half an hour in all; writes RESULTS.md
//	make soak SOAK='-for 1h'             # an hour each
//	go test ./e2e/soak                   # a second or so each, part of all tests
//
// Kills, power failures, informers, writers beside the server on one etcd, and lack of disk, memory and
// descriptors use package oracle; reads and writes over several replicas are checked for linearizability
// by porcupine while a proxy between server and etcd (proxy.go) delays, cuts and swallows what passes. On PostgreSQL
// (postgres_test.go) the database is killed, or fails over to a standby, or replicas are killed besides.
// Bounds of memory are numbers that tests fail above. Nothing takes privileges: disks and clocks are
// those of package harness.
//
// mended_test.go and endings_test.go measure what was worse once. cluster_test.go and restores_test.go are about
// servers with embedded members, and about restores:
//
//	LeaderLost          for how long writes stand still when the leader is killed, or suspended
//	ClusterOverwrites   what members take in memory while large objects are overwritten
//	WithoutMajority     what the last member responds with, while it runs and when it starts
//	Upgrade…            what clients see while servers become those of the next release in turn, and go back
//	KilledRestores      what killed restores of a snapshot leave, and what comes of the next restore
//	Endings             among others, how a server ends on a database file that is damaged
package soak
