// Package event declares the Event, which two groups serve: the core group, and
// events.k8s.io in a shape and under rules of its own.
package event
