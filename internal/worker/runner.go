package worker

import "context"

// Runner is work that lasts as long as a context, without a goroutine while it is idle. Queue and Periodic are runners.
type Runner interface {
	// Start works until ctx is done. It returns at once and is called once.
	Start(ctx context.Context)
	// Wait returns when nothing runs any more after ctx is done. Start must have been called.
	Wait()
}

// Together is several runners as one.
type Together []Runner

// Start implements Runner.
func (t Together) Start(ctx context.Context) {
	for _, r := range t {
		r.Start(ctx)
	}
}

// Wait implements Runner.
func (t Together) Wait() {
	for _, r := range t {
		r.Wait()
	}
}

// After returns runners as one that starts when a channel is closed.
func After(ready <-chan struct{}, all ...Runner) Runner { return &later{ready: ready, all: all} }

type later struct {
	ready   <-chan struct{}
	all     Together
	waiting Group
}

// Start implements Runner.
func (l *later) Start(ctx context.Context) {
	l.waiting.Go(func() {
		select {
		case <-l.ready:
		case <-ctx.Done():
		}
		l.all.Start(ctx)
	})
}

// Wait implements Runner.
func (l *later) Wait() {
	l.waiting.Wait()
	l.all.Wait()
}
