// Command bench measures Kubernetes API servers: throughput, latency, CPU per
// operation and memory, of this server and of others on the same machine in the
// same run, in turn and several times. It writes Markdown.
//
//	make bench                             # every row, two rounds, into RESULTS.md
//	make bench BENCH="-rounds 0 -long -out e2e/bench/CURVES.md"
//	                                       # the scaling phases alone (ten minutes and more; TMPDIR needs 4 GB)
//	go run ./e2e/bench -rounds 1 -scale 0.1 -only create,get -servers embedded
//	go run ./e2e/bench -kubeconfig FILE -pids 1,2
//	                                       # only load, against any API server
//	make bench BENCH="-servers PostgreSQL -rounds 3 -out e2e/bench/POSTGRESQL.md"
//	                                       # on PostgreSQL, without and with kine
//	go run ./e2e/bench -rounds 0 -long -only "in PostgreSQL"
//	                                       # a million objects of 1 KB in PostgreSQL
//	go run ./e2e/bench -rounds 1 -servers Triplane -profiles DIR
//	                                       # profiles of the CPU, a second each, for go tool pprof DIR/*
//
// The load comes from 16 HTTP/2 connections over TLS, one a client, as JSON
// unless a row says otherwise. CPU is user plus system time of all processes of
// a server (its etcd too), from /proc; so is memory. What a row costs is the
// median of the rounds; ratios are between medians of the same run. Beside them
// stand the numbers of kube-apiserver v1.36.2 with etcd 3.6, which were measured
// on another machine of two cores: they show the order, not the percent.
//
// The rows of one user alone and beside a flood are about fairness: 5,000 gets,
// one after the other, while another user's 16 connections list everything. The
// flood is a process of its own (this program, -flood) and has the lowest
// priority (nice 19): what it costs to receive a list is no cost of the server, and
// belongs on another machine. It reports how much it got, so that a flood that is
// none shows. The server has a processor of its own, and all clients have another:
// with shared ones the kernel's scheduling of the processes is most of the p99.
//
// The limit is a server of net/http (bare.go, this program with -bare) that answers the same requests over TLS and HTTP/2
// with bytes that a Triplane has answered, and makes one transaction of an etcd in its process for each write. It
// does not authenticate, authorize or validate. Aims for CPU are multiples of its CPU in the same run.
//
// aims.go has the tables of aims. docs/performance/obstacles.md has the reasons of those that are not held; the
// results include them.
//
// main.go runs the servers (target.go) in turn; phases.go has the rows of load,
// fanout.go those of watches, controllers.go those of deletions that controllers
// carry out, fairness.go those beside a flood, first.go those of a server that has read
// nothing yet, crds.go those of large CRDs, workspaces.go those of workspaces, memory.go and scaling*.go what grows,
// postgres.go the comparison with kine, raw.go the floor below all of them, profile.go the
// profiles, yardstick.go kube-apiserver's numbers and the aims.
package main
