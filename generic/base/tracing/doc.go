// Package tracing exports spans of requests with OpenTelemetry (KEP-647): one for each sampled request, and
// child spans for requests to etcd and to webhooks.
//
// Without --tracing-config-file there are no spans. A request is sampled at its beginning, by rate or because
// its client sampled it. Traces of privileged clients are continued; those of other clients are only linked. If
// a request is not sampled, Did and Start only cost a lookup in the context.
package tracing
