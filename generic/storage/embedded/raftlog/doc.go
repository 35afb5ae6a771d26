// Package raftlog bounds the memory of raft's log in a member of a cluster by bytes.
//
// etcd keeps applied entries in memory for followers that lack them, a number of them of any size. Log adapts that
// number to the sizes of the entries (log.go): in general entries of 64 MiB are kept.
//
// While etcd sends its database to a follower, and for 30 seconds after that, it keeps all entries, so that the
// follower finds those that follow the database. The memory is then bounded by delaying writes (pace.go): the closer
// the log comes to its limit, the longer they wait. Members that do not lead read the size of the leader's log
// (report.go), because their writes are in it, too.
package raftlog
