package tracing

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/configfile"
)

// configuration is a TracingConfiguration of apiserver.config.k8s.io.
type configuration struct {
	// Endpoint is host:port of an OTLP collector with gRPC. It defaults to localhost:4317.
	Endpoint *string `json:"endpoint,omitempty"`
	// SamplingRatePerMillion is how many of a million requests without a parent trace are sampled. It defaults
	// to 0.
	SamplingRatePerMillion *int32 `json:"samplingRatePerMillion,omitempty"`
}

const (
	defaultEndpoint = "localhost:4317"
	million         = 1000000
)

func decode(raw []byte) (*configuration, error) {
	c := &configuration{}
	if _, err := configfile.Decode(raw, "TracingConfiguration", []string{"v1", "v1beta1", "v1alpha1"}, c); err != nil {
		return nil, err
	}
	return c, c.validate().ToAggregate()
}

func (c *configuration) validate() field.ErrorList {
	var errs field.ErrorList
	if r := c.SamplingRatePerMillion; r != nil && (*r < 0 || *r > million) {
		errs = append(errs, field.Invalid(field.NewPath("samplingRatePerMillion"), *r, "must be between 0 and 1000000"))
	}
	if e := c.Endpoint; e != nil {
		if _, err := url.Parse("dns:///" + *e); err != nil || *e == "" || strings.ContainsAny(*e, " \t") {
			errs = append(errs, field.Invalid(field.NewPath("endpoint"), *e, "must be HOST:PORT"))
		}
	}
	return errs
}

// Provider creates and exports spans.
type Provider struct{ *sdktrace.TracerProvider }

// Load reads the file of --tracing-config-file. It returns nil if file is "". instance is the name of this
// server.
func Load(ctx context.Context, file, instance string) (*Provider, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	c, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	endpoint, rate := defaultEndpoint, 0.0
	if c.Endpoint != nil {
		endpoint = *c.Endpoint
	}
	if c.SamplingRatePerMillion != nil {
		rate = float64(*c.SamplingRatePerMillion) / million
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithInsecure(), otlptracegrpc.WithEndpoint(endpoint))
	if err != nil {
		return nil, err
	}
	return &Provider{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(rate))),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "apiserver"),
			attribute.String("service.instance.id", instance))),
	)}, nil
}
