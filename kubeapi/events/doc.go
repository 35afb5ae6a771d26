// Package events serves the group events.k8s.io/v1: the same objects as the
// events of the core group, under the same keys, in a shape and under rules of
// its own.
package events
