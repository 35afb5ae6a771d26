// Package watchmetrics has the metrics of watches, which the handlers of a resource observe through Metrics.Of.
package watchmetrics
