package admission

import (
	"context"
	"errors"
	"time"

	"triplane.dev/generic/base/request"
)

// Named is a plugin with its name in flags, configurations and metrics.
type Named struct {
	Name   string
	Plugin Interface
}

// Chain runs plugins in order: Admit the mutating ones, Validate the validating ones. The zero Chain has no
// plugins. It is immutable and safe for concurrent use.
type Chain struct {
	plugins []member
	metrics *Metrics
}

// member is a plugin with its two interfaces; mutating or validating is nil where the plugin does not implement
// it.
type member struct {
	Interface
	name       string
	mutating   MutatingInterface
	validating ValidatingInterface
	metrics    *PluginMetrics
}

// NewChain returns a chain of plugins in the given order. With nil metrics nothing is counted.
func NewChain(m *Metrics, plugins ...Named) Chain {
	c := Chain{metrics: m}
	for _, p := range plugins {
		row := member{Interface: p.Plugin, name: p.Name, metrics: m.Plugin(p.Name)}
		row.mutating, _ = p.Plugin.(MutatingInterface)
		row.validating, _ = p.Plugin.(ValidatingInterface)
		c.plugins = append(c.plugins, row)
	}
	return c
}

// Names returns the names of the plugins in their order.
func (c Chain) Names() []string {
	names := make([]string, len(c.plugins))
	for i := range c.plugins {
		names[i] = c.plugins[i].name
	}
	return names
}

// Handles reports whether any plugin handles the operation.
func (c Chain) Handles(op Operation) bool {
	for i := range c.plugins {
		if c.plugins[i].Handles(op) {
			return true
		}
	}
	return false
}

// Admit runs the mutating plugins until one denies the request. If a plugin called Reinvoke, it runs them a
// second time.
func (c Chain) Admit(ctx context.Context, a *Attributes) error {
	start := time.Now()
	err := c.round(ctx, a, Mutating)
	if err == nil && a.rounds.requested {
		a.rounds.running = true
		err = c.round(ctx, a, Mutating)
	}
	c.metrics.Step(Mutating, string(a.Operation), err != nil, time.Since(start))
	return err
}

// Validate runs the validating plugins until one denies the request.
func (c Chain) Validate(ctx context.Context, a *Attributes) error {
	start := time.Now()
	err := c.round(ctx, a, Validating)
	c.metrics.Step(Validating, string(a.Operation), err != nil, time.Since(start))
	return err
}

// round calls the plugins of a phase and measures them. The end of one call is the start of the next.
func (c Chain) round(ctx context.Context, a *Attributes, phase Phase) error {
	start, last := time.Now(), time.Duration(0)
	for i := range c.plugins {
		p := &c.plugins[i]
		var err error
		switch {
		case phase == Mutating && p.mutating != nil && p.Handles(a.Operation):
			err = p.mutating.Admit(ctx, a)
		case phase == Validating && p.validating != nil && p.Handles(a.Operation):
			err = p.validating.Validate(ctx, a)
		default:
			continue
		}
		now := time.Since(start) // cheaper than time.Now for each plugin
		p.metrics.Took(phase, string(a.Operation), err != nil, now-last)
		if last = now; err != nil {
			return inTime(ctx, err)
		}
	}
	return nil
}

// inTime returns err, or a timeout if the request's deadline has passed: then the deadline may have caused err.
func inTime(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return request.TimedOut()
	}
	return err
}
