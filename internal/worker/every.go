package worker

import (
	"context"
	"sync"
	"time"
)

// Periodic is work that is repeated. Create it with Every.
type Periodic struct {
	first, interval time.Duration
	work            *Demand
	ended           chan struct{} // closed after the end of the context of Start

	mu    sync.Mutex
	ctx   context.Context //nolint:containedctx // of Start
	timer *time.Timer     // nil before Start and after the end
}

// Every returns a runner that calls f after first, and then after each interval, never twice at the same time.
func Every(first, interval time.Duration, f func(context.Context)) *Periodic {
	p := &Periodic{first: first, interval: interval, ended: make(chan struct{})}
	p.work = NewDemand(func() {
		if ctx := p.running(); ctx != nil {
			defer p.again() // after a panic, too
			f(ctx)
		}
	})
	return p
}

// Start implements Runner.
func (p *Periodic) Start(ctx context.Context) {
	p.mu.Lock()
	p.ctx, p.timer = ctx, time.AfterFunc(p.first, p.work.Request)
	p.mu.Unlock()
	context.AfterFunc(ctx, p.end)
}

// Wait implements Runner.
func (p *Periodic) Wait() {
	<-p.ended
	p.work.Wait()
}

// running returns the context of Start, or nil after its end.
func (p *Periodic) running() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer == nil || p.ctx.Err() != nil {
		return nil
	}
	return p.ctx
}

func (p *Periodic) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Reset(p.interval)
	}
}

func (p *Periodic) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer.Stop()
	p.timer = nil
	close(p.ended)
}
