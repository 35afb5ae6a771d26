// Package cache implements storage.Cache: it serves reads from memory.
//
// A server has one Multiplexer. It holds one watch of the backend for the server's prefix and passes each
// change, in order, to the Cache of the key's resource. Then it advances its progress: the revision up to which
// all caches have all changes. A consistent read of any resource therefore requests the backend's current
// revision and waits until the progress reaches it. With the embedded backend that request is a function call.
//
// A Cache has
//
//   - the current records in a copy-on-write tree. The first read fills it, or Prefill does if there are many
//     objects;
//   - the history: the latest events since the cache was registered. Watches start from it, without a fill;
//   - the watches, indexed by their scope, so that an event is only passed to those that it may concern.
//
// A Multiplexer can have children for the keys below paths such as ".workspaces/a". A child shares the watch and the
// progress, and has separate caches and taps: those of the parent receive no keys of children.
//
// A Tap receives the changes of all resources, for example for the garbage collector. It fills no cache, and
// has no cost for a resource without changes.
//
// An event is created once and shared by the history and the queues of all watches. Each watch applies its
// selectors in its own goroutine. A record is decoded for selectors at most once, and not at all without
// selectors.
//
// Locks are taken in the order Multiplexer.mu, Cache.mu, watch.mu. The multiplexer's goroutine locks Cache.mu
// for writing while it applies a batch. Reads of many records copy the tree under the lock, which is cheap, and
// iterate over the copy without it.
package cache
