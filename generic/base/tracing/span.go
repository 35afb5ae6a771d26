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

// scope names the instrumentation.
const scope = "triplane"

// Tracer is for the spans of requests.
func (p *Provider) Tracer() trace.Tracer { return p.TracerProvider.Tracer(scope) }

// Remote returns the span that a request's header names, in the format of W3C Trace
// Context; it is not valid where there is none.
func Remote(h http.Header) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(h)))
}

// Inject names the span of ctx, if it is recorded, in the header of a request.
func Inject(ctx context.Context, h http.Header) {
	if trace.SpanFromContext(ctx).IsRecording() {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Start begins a span below that of ctx; it does nothing where that is not recorded.
func Start(ctx context.Context, name string, attributes ...attribute.KeyValue) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, noop.Span{}
	}
	return parent.TracerProvider().Tracer(scope).Start(ctx, name, trace.WithAttributes(attributes...), trace.WithSpanKind(trace.SpanKindClient))
}

// Did adds a span of something that is over to the trace of ctx, if that is recorded.
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
