// Package conntrack tracks connections, so that those of upgraded requests can be closed when a server stops: their
// transports give them away and do not close them.
package conntrack
