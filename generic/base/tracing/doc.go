// Package tracing exports spans of requests with OpenTelemetry (KEP-647): one for each sampled request, and
// child spans for requests to etcd and to webhooks.
//
// Without --tracing-config-file there are no spans. Whether a request is sampled is decided at its beginning, by
// rate or by its client: traces of privileged clients are continued, those of other clients are only linked. If a
// request is not sampled, Did and Start only cost a lookup in the context.
package tracing
