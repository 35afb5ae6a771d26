// Package leadership elects leaders among candidates, for Leases whose components leave
// that to the API server (KEP-4355, the feature gate CoordinatedLeaderElection).
//
// A component says with a LeaseCandidate that it would hold a Lease, which release it is
// of and which it emulates. When nobody holds the Lease, or somebody who is not the best
// choice, all candidates are asked to show that they live: a ping, which they answer by
// renewing. Of those that do in time, the strategy OldestEmulationVersion takes the one of
// the oldest release. It becomes the holder; while another one holds the Lease, it becomes
// the preferred holder, at which the other lets the Lease expire. A Lease whose candidates
// want another strategy gets that strategy, and its holder from who knows it.
//
// Of several API servers one does this at a time, the one that holds the Lease
// kube-system/leader-election-controller.
package leadership
