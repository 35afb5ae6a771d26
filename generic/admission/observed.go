package admission

import (
	"context"
	"time"

	"triplane/generic/metrics"
)

// Observed returns a plugin whose times are measured under a name; nil metrics leave it
// as it is.
func Observed(name string, p Interface, m *metrics.Admission) Interface {
	if m == nil {
		return p
	}
	mutating, mutates := p.(MutatingInterface)
	validating, validates := p.(ValidatingInterface)
	admit, validate := observedAdmit{mutating, m.Plugin(name, "admit")}, observedValidate{validating, m.Plugin(name, "validate")}
	switch {
	case mutates && validates:
		return struct {
			observedAdmit
			validator
		}{admit, validate}
	case mutates:
		return admit
	case validates:
		return validate
	}
	return p
}

// Observed returns a chain whose steps are measured; nil metrics leave it as it is.
func (c Chain) Observed(m *metrics.Admission) Chain {
	if m == nil {
		return c
	}
	return Chain{&observedChain{c, m.Step("admit"), m.Step("validate")}}
}

type observedAdmit struct {
	MutatingInterface
	timer *metrics.AdmissionTimer
}

// Admit implements MutatingInterface.
func (o observedAdmit) Admit(ctx context.Context, a *Attributes) error {
	begun := time.Now()
	err := o.MutatingInterface.Admit(ctx, a)
	o.timer.Observe(string(a.Operation), err != nil, begun)
	return err
}

type observedValidate struct {
	ValidatingInterface
	timer *metrics.AdmissionTimer
}

// Validate implements ValidatingInterface.
func (o observedValidate) Validate(ctx context.Context, a *Attributes) error {
	begun := time.Now()
	err := o.ValidatingInterface.Validate(ctx, a)
	o.timer.Observe(string(a.Operation), err != nil, begun)
	return err
}

// validator is what a plugin of both kinds takes from its validating side.
type validator interface {
	Validate(ctx context.Context, a *Attributes) error
}

// observedChain is a chain as one plugin. What asks for a second round is left to the
// chain that it is in.
type observedChain struct {
	Chain
	admits, validates *metrics.AdmissionTimer
}

// Admit implements MutatingInterface.
func (o *observedChain) Admit(ctx context.Context, a *Attributes) error {
	begun := time.Now()
	err := o.admit(ctx, a)
	o.admits.Observe(string(a.Operation), err != nil, begun)
	return err
}

// Validate implements ValidatingInterface.
func (o *observedChain) Validate(ctx context.Context, a *Attributes) error {
	begun := time.Now()
	err := o.Chain.Validate(ctx, a)
	o.validates.Observe(string(a.Operation), err != nil, begun)
	return err
}
