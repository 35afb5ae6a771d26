// Package cache answers reads from memory: it implements storage.Cache.
//
// One Multiplexer a server holds one watch of the backend for everything below the
// server's prefix. It hands each change, in order, to the Cache of the resource
// that the key belongs to, and then moves its progress: the revision up to which
// every cache has seen everything. A consistent read is therefore one question to
// the backend ("what is the revision now?") and a wait until the progress is
// there, whatever the resource; with the embedded backend the question is a
// lock.
//
// A Cache holds
//
//   - the present records in a copy-on-write tree, filled on the first read, or
//     ahead of it where there are many (Prefill);
//   - the history: the latest events, kept from registration on, from which a
//     watch starts. It needs no fill;
//   - the watches, indexed by what they look at, so that an event touches only
//     those it may concern.
//
// A Tap is for what follows all resources at once, such as the garbage collector:
// it fills no cache, and costs a resource without changes nothing.
//
// An event is made once and shared by the history and the queues of all watches.
// Selectors are applied by each watch in its own goroutine; records are decoded
// for them once, and never if nobody uses a selector.
//
// Locks are taken in the order Multiplexer.mu, Cache.mu, watch.mu. The multiplexer's goroutine
// takes Cache.mu for writing while it applies a batch; reads of many records
// copy the tree under the lock, which is cheap, and walk the copy without it.
package cache
