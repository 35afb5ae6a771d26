// Package coordination declares the kind of the group coordination.k8s.io/v1, Lease:
// what one of several holds, for elections and heartbeats.
//
// A PUT creates a Lease that is not there, and overwrites none without its
// resourceVersion: two candidates cannot both win. Finalizers need no domain. The
// fields of coordinated leader election, whose feature is off, are dropped.
package coordination
