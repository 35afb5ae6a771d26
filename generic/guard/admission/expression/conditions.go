package expression

import (
	"context"
	"errors"

	"github.com/google/cel-go/common/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Conditions are the compiled matchConditions of a webhook or policy.
type Conditions []*Expression

// Conditions compiles match conditions.
func (c *Compiler) Conditions(s Scope, list []admissionv1.MatchCondition) Conditions {
	out := make(Conditions, len(list))
	for i := range list {
		out[i] = c.Compile(s, list[i].Expression, types.BoolType)
	}
	return out
}

// Match reports whether all conditions are true. If one is false, errors of others are ignored. Exceeding the
// budget ends the evaluation with an error.
func (cs Conditions) Match(ctx context.Context, e *Evaluation) (bool, error) {
	var errs []error
	for _, x := range cs {
		out, err := e.Evaluate(ctx, x)
		if errors.Is(err, ErrBudget) {
			return false, err
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if out == types.False {
			return false, nil
		}
	}
	if len(errs) > 0 {
		return false, utilerrors.NewAggregate(errs)
	}
	return true, nil
}
