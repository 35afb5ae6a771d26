// Package control is what the controllers of kubeapi/controllers share.
//
//   - Feed follows the stored objects of all resources, with one tap on each multiplexer. It
//     keeps nothing: handlers get an object's stored bytes and note what they need,
//     mostly a key for their queue. Other objects are read from the server's watch
//     caches, through Stores.
//   - Queue runs a controller's function for keys, each by one worker at a time, and
//     again after an error, with exponential back-off.
//   - Env makes clients that act as a controller's service account, so that its
//     bootstrap role applies and audit events name it. All writes go through them.
//   - Resources lists what the server serves, and which of it external servers keep.
//
// A controller is made anew whenever this replica begins to lead, and ends with
// its context.
package control
