// Package tracing exports spans of requests with OpenTelemetry (KEP 647): one of each
// request that is sampled, and below it those of requests to etcd and of webhooks.
//
// There is nothing of it without --tracing-config-file. Whether a request is sampled is
// decided at its beginning, by rate, or by who sent it: the traces of privileged clients
// are continued, those of others are linked. Span and Start cost a look into the context
// where nothing is recorded.
package tracing
