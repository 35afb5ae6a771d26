// Package e2e is the folder of the tests of the built binary with real clients and peers: kubectl
// of k8s.io/kubectl, client-go, etcd in a process of its own, the API server of
// k8s.io/sample-apiserver, and others. It has no test itself. Each file says in its first line
// what it tests.
//
//	kubectl/      kubectl, and the commands of the README
//	clients/      client-go and controller-runtime
//	store/        durability, consistency, snapshots, transfers, encryption; etcd
//	postgres/     PostgreSQL instead of etcd
//	kine/         kine instead of etcd (make test-others)
//	former/       the program of the former release: upgrades, and the way back (make test-former)
//	replicas/     several servers on one store
//	extensions/   external API servers, conversion webhooks
//	admission/    webhooks and policies
//	controllers/  what the server's controllers do
//	deploy/       the files of deploy/, Helm, and command lines of others (make test-others)
//	serving/      audit, logs, emulated releases, plugins, addresses
//	attacks/      attacks, and the defence that each one meets
//	console/      the console in a browser
//	outside/      the binary and the Go packages from a directory outside of the repository (make test-outside)
//	published/    the CRDs that projects publish, with their examples
//	envtest/      controller-runtime's own test suites
//	soak/         kills, cuts and lack of everything, for as long as one likes
//	bench/        measures the server beside others
//
// Package programs builds the programs, which make does before the tests; harness runs them, oracle
// knows what must be true of a history, and the modules in tools/ name the versions of the programs. testdata/ has the manifests of the
// README's walk. parity.sh replays recorded exchanges with kube-apiserver.
package e2e
