// Package egresstest has the proxies of package egress for tests: one with HTTP CONNECT, and a konnectivity
// server, which connects by itself instead of through an agent. Both record the addresses of their connections.
package egresstest
