// Package soak runs the built server for as long as one likes while it is killed, cut off, starved and
// flooded, and holds what it answers against what it must answer.
//
//	make soak                            # two minutes each, writes RESULTS.md
//	make soak SOAK='-for 1h'             # an hour each
//	go test ./e2e/soak                   # some seconds each, part of all tests
//
// Kills, power failures and informers use package oracle; reads and writes over several replicas are
// checked for linearizability by porcupine while a proxy between server and etcd (proxy.go) delays,
// cuts and swallows what passes.
package soak
