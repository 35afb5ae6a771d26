package admission

import (
	"context"

	"triplane.dev/generic/guard/admission"
)

// everything is embedded in plugins that handle all operations.
type everything struct{}

// Handles implements admission.Interface.
func (everything) Handles(admission.Operation) bool { return true }

// alwaysAdmit admits everything; it is deprecated and does nothing.
//
// Options: --enable-admission-plugins; it is off by default. Metrics: none. Order: any.
type alwaysAdmit struct{ everything }

func newAlwaysAdmit(_ *Dependencies) admission.Interface { return alwaysAdmit{} }

// Admit implements admission.MutatingInterface.
func (alwaysAdmit) Admit(context.Context, *admission.Attributes) error { return nil }

// Validate implements admission.ValidatingInterface.
func (alwaysAdmit) Validate(context.Context, *admission.Attributes) error { return nil }
