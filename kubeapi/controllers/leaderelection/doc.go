// Package leaderelection runs work in one of several processes: in the one that holds a Lease of coordination.k8s.io.
//
//	leaderelection.Run(ctx, config, func(ctx context.Context) { … }) // once; call it in a loop to lead again
//
// Leases have the fields that client-go's package of this name writes, so that both may compete for a Lease. That
// package is not used because it imports the clientset and the informers of all kinds, which take long to compile.
//
// Two processes do not work at the same time if the work returns soon after its context is done, and if clocks run at
// the same speed; they may show different times:
//
//   - A process acquires the Lease of another one if it has not seen a change of it for the duration in the Lease.
//   - The context of the work is done before that duration has passed since the start of the last renewal.
//   - The Lease is renewed until the work has returned, and only then released.
package leaderelection
