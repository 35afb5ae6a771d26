// Package mux finds the handler of a request in one server of the chain. An APIServerHandler asks its services first
// (package routes, and those of a go-restful container), with a router that looks up paths in a tree, then a
// PathRecorderMux for all other paths, and passes the request to the next server otherwise. Claims say which paths a
// server serves itself.
package mux
