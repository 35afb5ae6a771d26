// Package requestmetrics has the metrics of requests: what the filters, the listener and the loopback client of a
// server observe. Metrics is the type to read first. Only requests for known resources create labels, and their
// number is limited (Requests).
package requestmetrics
