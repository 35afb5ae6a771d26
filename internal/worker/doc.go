// Package worker starts goroutines whose panics do not end the process. (net/http recovers
// the panics of handlers only.)
//
//	worker.Go(f)                 // instead of go f()
//	var all worker.Group         // instead of sync.WaitGroup with Go
//	worker.Keep(ctx, f)          // runs f, again after each panic
//	err := worker.Try(f)         // runs f, whose panic is an error
//
// A panic is logged with its stack and counted. Work that returns a result uses
// Try, so that its caller is not left waiting; work that lasts as long as the server
// uses Keep. internal/imports tests that no goroutine is started otherwise.
//
// The count is that of the process: servers side by side show the same number.
package worker
