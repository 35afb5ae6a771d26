// Package mux finds the handler of a request in one server of the chain. An APIServerHandler asks a go-restful
// container for the routes of API resources first, with a router that looks up paths in a tree, and a
// PathRecorderMux for all other paths, and passes the request to the next server otherwise. Claims say which paths
// a server serves itself.
package mux
