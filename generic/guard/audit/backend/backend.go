package backend

import (
	"context"
	"slices"
	"time"

	"k8s.io/klog/v2"

	"triplane/generic/base/metrics"
	"triplane/generic/guard/audit"
)

// The names of the plugins in the metrics of errors.
const (
	pluginLog      = "log"
	pluginWebhook  = "webhook"
	pluginBuffered = "buffered"
	pluginTruncate = "truncate"
)

// failures counts and logs what a plugin could not handle, at most once a second
// in the log.
type failures struct {
	plugin  string
	metrics *metrics.Audit
	quiet   limiter
}

func newFailures(plugin string, m *metrics.Audit) failures {
	return failures{plugin: plugin, metrics: m, quiet: limiter{pause: time.Second}}
}

func (f *failures) failed(err error, n int) {
	if f.metrics != nil {
		f.metrics.Failed(f.plugin, n)
	}
	if f.quiet.pass(time.Now()) {
		klog.ErrorS(err, "Audit events are lost", "plugin", f.plugin, "events", n)
	}
}

// IgnoreErrors lets requests go on whose events could not be stored.
type IgnoreErrors struct{ audit.Backend }

// Process implements audit.Backend.
func (b IgnoreErrors) Process(events ...*audit.Event) bool {
	b.Backend.Process(events...)
	return true
}

// Union sends events to several backends.
type Union []audit.Backend

// Process implements audit.Backend: all have to store the events.
func (u Union) Process(events ...*audit.Event) bool {
	stored := true
	for _, b := range u {
		stored = b.Process(events...) && stored
	}
	return stored
}

// Close implements audit.Backend, the last backend first.
func (u Union) Close(ctx context.Context) {
	for _, b := range slices.Backward(u) {
		b.Close(ctx)
	}
}
