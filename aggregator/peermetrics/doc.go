// Package peermetrics has the metrics of the proxy to peers, and of their discovery.
package peermetrics
