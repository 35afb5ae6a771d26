// Package worker starts goroutines whose panics do not terminate the process. (net/http recovers only panics of
// handlers.)
//
//	worker.Go(f)                 // instead of go f()
//	var all worker.Group         // instead of sync.WaitGroup with Go
//	worker.Keep(ctx, f)          // runs f, and restarts it after a panic
//	err := worker.Try(f)         // runs f, and returns a panic as an error
//	defer turns.Wait(ctx)()      // begins after urgent work and the turns of others
//
// A panic is logged with its stack and counted. Work that returns a result uses Try, so that its caller does not
// wait forever. Work that runs as long as the server uses Keep. internal/imports tests that no goroutine is
// started otherwise.
//
// The counter is global to the process: all its servers report the same number.
package worker
