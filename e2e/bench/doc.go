// Command bench measures Kubernetes API servers: throughput, latency, CPU per
// operation and memory, of this server and of others on the same machine in the
// same run, in turn and several times. It writes Markdown.
//
//	go run ./e2e/bench                     # everything, RESULTS.md on standard output
//	go run ./e2e/bench -rounds 1 -scale 0.1 -only create,get
//	go run ./e2e/bench -kubeconfig FILE    # only load, against any API server
//
// The load comes from 16 HTTP/2 connections over TLS, one a client, as JSON
// unless a row says otherwise. CPU is user plus system time of all processes of
// a server (its etcd too), from /proc. What a row costs is the median of the
// rounds; ratios are between medians of the same run.
package main
