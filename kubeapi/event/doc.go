// Package event declares the Event, which two groups serve: the core group, and
// events.k8s.io in another shape and under other rules.
package event
