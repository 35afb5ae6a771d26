package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is the name of the instrumentation.
const scope = "triplane"

// Tracer returns the tracer for spans of requests.
func (p *Provider) Tracer() trace.Tracer { return p.TracerProvider.Tracer(scope) }

// Remote returns the span context of a request's headers, in the format of W3C Trace Context. It is invalid if
// there is none.
func Remote(h http.Header) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
		propagation.HeaderCarrier(h)))
}

// Inject adds the span of ctx to the headers of an outgoing request, if it is recorded.
func Inject(ctx context.Context, h http.Header) {
	if trace.SpanFromContext(ctx).IsRecording() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Start starts a child of ctx's span. If that is not recorded, it returns a span that does nothing.
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(attributes...),
		trace.WithSpanKind(trace.SpanKindClient))
}

// Did records a completed operation as a child of ctx's span, if that is recorded.
func Did(ctx context.Context, name string, begun time.Time, err error, attributes ...attribute.KeyValue) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return
	}
	_, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(attributes...),
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(begun))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
