package expression

import (
	"context"
	"errors"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
)

// Conditions are compiled match conditions.
type Conditions []*Expression

// Conditions compiles match conditions.
func (c *Compiler) Conditions(s Scope, list []admissionv1.MatchCondition) Conditions {
	out := make(Conditions, len(list))
	for i := range list {
		out[i] = c.Compile(s, list[i].Expression, types.BoolType)
	}
	return out
}

// Match reports whether all conditions hold. One that is false decides, whatever
// errors others have.
func (cs Conditions) Match(ctx context.Context, e *Evaluation) (bool, error) {
	var errs []error
	for _, x := range cs {
		out, err := e.Evaluate(ctx, x)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if out == types.False {
			return false, nil
		}
	}
	switch len(errs) {
	case 0:
		return true, nil
	case 1:
		return false, errs[0]
	}
	return false, errors.Join(errs...)
}
