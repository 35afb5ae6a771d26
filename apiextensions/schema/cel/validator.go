package cel

import (
	"context"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/apiextensions/schema"
)

// Validator holds the compiled rules of a schema. It is safe for concurrent use.
type Validator struct{}

// NewValidator returns the validator of a schema, nil where it has no rules.
func NewValidator(s *schema.Schema) *Validator { return nil }

// Validate judges a value, and its change from old where that is not nil.
func (v *Validator) Validate(ctx context.Context, path *field.Path, value, old any) field.ErrorList {
	return nil
}

// Check judges the rules of a structural schema whose root is at path: that they
// compile, and what they may cost.
func Check(ctx context.Context, path *field.Path, root *schema.Schema) field.ErrorList {
	return nil
}
