// Package worker starts goroutines whose panics do not end the process. Nobody
// else recovers there: what net/http recovers are handlers.
//
//	worker.Go(f)                 // instead of go f()
//	var all worker.Group         // instead of sync.WaitGroup with Go
//	worker.Keep(ctx, f)          // runs f, again after each panic
//	err := worker.Try(f)         // runs f, whose panic is an error
//
// A panic is logged with its stack and counted. Who has something to return uses
// Try, so that nobody waits for it in vain; who works for as long as the server
// runs is kept. internal/imports tests that no goroutine is started otherwise.
//
// Panics of the process are counted, as it is the process that they would end:
// servers side by side show the same number.
package worker
