// Package bootstrap holds what the server creates for itself: default roles and
// bindings, priority classes, flow schemas and priority levels, as Go data, and
// the hooks that write them.
//
// A hook lists what is there once, creates what is missing many at a time, and
// brings objects up to date that nobody has asked to be left alone. It writes
// through the storage of the kinds, without a request's detours, because a first
// start makes some 160 objects and is to be ready in a fraction of a second. The same is
// done every minute, so that what somebody removes or breaks comes back.
package bootstrap
