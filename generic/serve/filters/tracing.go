package filters

import (
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/base/user"
)

// TracingOptions is --tracing-config-file.
type TracingOptions struct {
	// Tracing creates spans; nil disables tracing.
	Tracing *tracing.Provider
}

// withTracing creates a span for sampled requests. The sampling decision of trusted clients is respected; the
// traces of other clients are linked to the span.
//
// Options: --tracing-config-file. Metrics: none. Order: after authentication, which determines whether the client
// is trusted; before all filters that create spans.
func withTracing(o TracingOptions) filter {
	if o.Tracing == nil {
		return nil
	}
	tracer := o.Tracing.Tracer()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e := exchangeOf(r)
			ctx := e.Parent()
			options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer),
				trace.WithTimestamp(e.Received)}
			if remote := tracing.Remote(r.Header); remote.IsValid() {
				if continuesTrace(e.User) {
					ctx = trace.ContextWithRemoteSpanContext(ctx, remote)
				} else {
					options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: remote}))
				}
			}
			ctx, span := tracer.Start(ctx, spanName(r.Method, &e.info), options...)
			defer e.AtEnd(func(any) { e.endSpan(span) })
			if span.IsRecording() {
				span.SetAttributes(attribute.String("http.request.method", r.Method),
					attribute.String("url.path", r.URL.Path),
					attribute.String("user_agent.original", r.UserAgent()), attribute.String("audit-id", e.AuditID()),
					attribute.String("network.protocol.version", strings.TrimPrefix(r.Proto, "HTTP/")))
				e.Values = ctx
			}
			next.ServeHTTP(w, r)
		})
	}
}

// endSpan records the status of the response.
func (e *exchange) endSpan(span trace.Span) {
	span.SetAttributes(attribute.Int("http.response.status_code", e.status))
	if e.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(e.status))
	}
	span.End()
}

// continuesTrace reports whether requests of a user continue the traces that they carry.
func continuesTrace(u *user.Info) bool {
	return u != nil &&
		(slices.Contains(u.Groups, user.SystemPrivileged) || slices.Contains(u.Groups, "system:monitoring"))
}

// spanName returns the method and the path without names of objects, whose number is unbounded.
func spanName(method string, i *request.Info) string {
	if !i.IsResourceRequest {
		return method
	}
	var b strings.Builder
	b.WriteString(method + " /" + i.APIPrefix)
	for _, part := range []string{i.APIGroup, i.APIVersion} {
		if part != "" {
			b.WriteString("/" + part)
		}
	}
	if i.Namespace != "" {
		b.WriteString("/namespaces/{:namespace}")
	}
	if i.Resource != "namespaces" || i.Namespace == "" {
		b.WriteString("/" + i.Resource)
	}
	if i.Name != "" && (i.Resource != "namespaces" || i.Namespace == "") {
		b.WriteString("/{:name}")
	}
	if i.Subresource != "" {
		b.WriteString("/" + i.Subresource)
	}
	return b.String()
}
