package admission

import (
	"context"

	"triplane.dev/generic/guard/admission"
)

// alwaysDeny rejects everything; it is deprecated and for tests.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: last.
type alwaysDeny struct{ everything }

func newAlwaysDeny(_ *Dependencies) admission.Interface { return alwaysDeny{} }

// Admit implements admission.MutatingInterface.
func (alwaysDeny) Admit(_ context.Context, a *admission.Attributes) error {
	return admission.Forbiddenf(a, "admission control is denying all modifications")
}

// Validate implements admission.ValidatingInterface.
func (d alwaysDeny) Validate(ctx context.Context, a *admission.Attributes) error {
	return d.Admit(ctx, a)
}
