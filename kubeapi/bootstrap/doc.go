// Package bootstrap holds what the server creates for itself: default roles and
// bindings, priority classes, flow schemas and priority levels, as Go data, and
// the hooks that write them.
//
// A hook lists what is there once, creates what is missing many at a time, and
// brings objects up to date whose annotation does not exclude them. It writes
// through the storage of the kinds, without a request's detours, because a first
// start makes some 160 objects and is to be ready in a fraction of a second. The same is
// done every minute, so that removed or changed objects are restored.
package bootstrap
