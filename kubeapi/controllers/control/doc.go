// Package control is what the controllers of kubeapi/controllers have in common.
//
//   - Feed follows the stored objects of all resources from one tap of each hub. It
//     keeps nothing: handlers get an object's bytes as storage holds them and note
//     what they need, mostly a key for their queue. What a controller has to know
//     of other objects it reads from the server's watch caches, with Stores.
//   - Queue runs a controller's function for keys, each by one worker at a time, and
//     again after an error, less and less often.
//   - Env gives clients that act as a controller's service account, so that its
//     bootstrap role applies and audit events name it. All writes go through them.
//   - Resources lists what the server serves, and which of it external servers keep.
//
// A controller is made anew whenever this replica begins to lead, and ends with
// its context.
package control
