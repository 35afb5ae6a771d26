// Package leadership elects leaders among candidates, for Leases of coordinated leader election (KEP-4355, the
// feature gate CoordinatedLeaderElection).
//
// A component creates a LeaseCandidate for a Lease, with its binary version and emulation version. If the Lease
// has no holder, or not the best candidate, the controller pings all candidates, which respond by renewing. The
// strategy OldestEmulationVersion elects the candidate with the oldest version among those that respond in time.
// It becomes the holder. If the Lease has another holder, it becomes the preferred holder, so that the other one
// lets the Lease expire. For candidates with another strategy the controller sets only the strategy of the Lease;
// a controller that supports it elects the holder.
//
// One API server at a time runs the elections: the holder of the Lease kube-system/leader-election-controller.
package leadership
