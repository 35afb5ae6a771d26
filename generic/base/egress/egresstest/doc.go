// Package egresstest runs the proxies that package egress speaks to, for tests: one of
// HTTP CONNECT, and a konnectivity server that connects by itself instead of asking an
// agent. Both note where they were asked to connect.
package egresstest
