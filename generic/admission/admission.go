// Package admission judges and changes objects between their decoding and
// their storage. Plugins that know built-in kinds live in kubeapi/admission.
package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/authentication/user"
)

// Operation is what is done to the object.
type Operation string

const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes is one operation under judgement. Object is in the hub version and
// may be changed by mutating plugins; it is nil for Delete. OldObject is nil
// for Create and Connect.
type Attributes struct {
	Operation   Operation
	Kind        schema.GroupVersionKind     // as requested
	Resource    schema.GroupVersionResource // as requested
	Subresource string
	Namespace   string
	Name        string
	Object      runtime.Object
	OldObject   runtime.Object
	Options     runtime.Object // *metav1.CreateOptions and so on
	DryRun      bool
	User        *user.Info
}

// Interface is an admission plugin, or the chain of them. A refusal is an
// API status error.
type Interface interface {
	// Handles tells whether the plugin wants to see an operation at all.
	Handles(op Operation) bool
}

// MutatingInterface changes objects.
type MutatingInterface interface {
	Interface
	Admit(ctx context.Context, a *Attributes) error
}

// ValidatingInterface judges objects and leaves them alone.
type ValidatingInterface interface {
	Interface
	Validate(ctx context.Context, a *Attributes) error
}

// Chain runs plugins in order: every mutating one, later every validating one.
type Chain []Interface

// Handles tells whether any plugin does.
func (c Chain) Handles(op Operation) bool {
	for _, p := range c {
		if p.Handles(op) {
			return true
		}
	}
	return false
}

// Admit runs the mutating plugins until one refuses.
func (c Chain) Admit(ctx context.Context, a *Attributes) error {
	for _, p := range c {
		if m, ok := p.(MutatingInterface); ok && p.Handles(a.Operation) {
			if err := m.Admit(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// Validate runs the validating plugins until one refuses.
func (c Chain) Validate(ctx context.Context, a *Attributes) error {
	for _, p := range c {
		if v, ok := p.(ValidatingInterface); ok && p.Handles(a.Operation) {
			if err := v.Validate(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}
