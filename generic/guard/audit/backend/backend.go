package backend

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/guard/audit"
)

// Names of the backends in the label "plugin" of error metrics.
const (
	pluginLog      = "log"
	pluginWebhook  = "webhook"
	pluginBuffered = "buffered"
	pluginTruncate = "truncate"
)

// failures counts the events that a backend failed to store, and logs them at most once a second.
type failures struct {
	plugin  string
	metrics *audit.Metrics
	quiet   limiter
}

func newFailures(plugin string, m *audit.Metrics) failures {
	return failures{plugin: plugin, metrics: m, quiet: limiter{pause: time.Second}}
}

func (f *failures) failed(err error, n int) {
	if f.metrics != nil {
		f.metrics.Failed(f.plugin, n)
	}
	if f.quiet.pass(time.Now()) {
		klog.ErrorS(err, "Lost audit events", "plugin", f.plugin, "events", n)
	}
}

// IgnoreErrors accepts requests whose events could not be stored.
type IgnoreErrors struct{ audit.Backend }

// Process implements audit.Backend.
func (b IgnoreErrors) Process(events ...*audit.Event) bool {
	b.Backend.Process(events...)
	return true
}

// Union sends events to several backends.
type Union []audit.Backend

// Process implements audit.Backend. It returns true if all backends return true.
func (u Union) Process(events ...*audit.Event) bool {
	stored := true
	for _, b := range u {
		stored = b.Process(events...) && stored
	}
	return stored
}

// Close implements audit.Backend. It closes the last backend first.
func (u Union) Close(ctx context.Context) {
	for _, b := range slices.Backward(u) {
		b.Close(ctx)
	}
}
