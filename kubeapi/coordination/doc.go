// Package coordination declares the kinds of the group coordination.k8s.io: Lease,
// what one of several holds, for elections and heartbeats, and LeaseCandidate, one who
// could hold it.
//
// A PUT creates a Lease that is not there, and overwrites none without its
// resourceVersion: two candidates cannot both win. Finalizers need no domain.
// Candidates, and the fields of leases that are for coordinated leader election, are
// there where that feature is on.
package coordination
