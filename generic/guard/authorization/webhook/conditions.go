package webhook

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	authorizationv1 "k8s.io/api/authorization/v1"

	shared "triplane.dev/generic/guard/cel"
)

// Condition is a compiled match condition. The webhook is only called if all conditions are true.
type Condition struct {
	source  string
	program *shared.Program
}

// conditionEnvironment returns the CEL environment of conditions. Its variable "request" is the spec of a
// SubjectAccessReview v1, whose fields are checked. Its values are those of conditionRequest.
var conditionEnvironment = sync.OnceValues(func() (*cel.Env, error) {
	return shared.WithObject[authorizationv1.SubjectAccessReviewSpec]("request")
})

// conditionRequest returns the value of the variable "request". Texts, groups and extra are there even if they are
// empty. To select attributes or a selector that the request does not have is an error.
func conditionRequest(spec *authorizationv1.SubjectAccessReviewSpec) map[string]any {
	extra := spec.Extra
	if extra == nil {
		extra = map[string]authorizationv1.ExtraValue{}
	}
	request := map[string]any{"user": spec.User, "groups": spec.Groups, "uid": spec.UID, "extra": extra}
	if r := spec.ResourceAttributes; r != nil {
		attributes := map[string]any{"namespace": r.Namespace, "verb": r.Verb, "group": r.Group, "version": r.Version,
			"resource": r.Resource, "subresource": r.Subresource, "name": r.Name}
		if s := r.FieldSelector; s != nil {
			setSelector(attributes, "fieldSelector", s.RawSelector, len(s.Requirements), func(i int) map[string]any {
				q := &s.Requirements[i]
				return map[string]any{"key": q.Key, "operator": string(q.Operator), "values": q.Values}
			})
		}
		if s := r.LabelSelector; s != nil {
			setSelector(attributes, "labelSelector", s.RawSelector, len(s.Requirements), func(i int) map[string]any {
				q := &s.Requirements[i]
				return map[string]any{"key": q.Key, "operator": string(q.Operator), "values": q.Values}
			})
		}
		request["resourceAttributes"] = attributes
	}
	if n := spec.NonResourceAttributes; n != nil {
		request["nonResourceAttributes"] = map[string]any{"path": n.Path, "verb": n.Verb}
	}
	return request
}

func setSelector(attributes map[string]any, name, raw string, n int, requirement func(int) map[string]any) {
	selector := map[string]any{}
	if raw != "" {
		selector["rawSelector"] = raw
	}
	if n > 0 {
		requirements := make([]map[string]any, n)
		for i := range requirements {
			requirements[i] = requirement(i)
		}
		selector["requirements"] = requirements
	}
	if len(selector) > 0 {
		attributes[name] = selector
	}
}

// CompileCondition compiles a CEL expression of type bool.
func CompileCondition(source string) (*Condition, error) {
	env, err := conditionEnvironment()
	if err != nil {
		return nil, err
	}
	ast, err := shared.Compile(env, source)
	if err != nil {
		return nil, err
	}
	if ast.OutputType().Kind() != types.BoolKind {
		return nil, fmt.Errorf("must evaluate to bool, not to %s", ast.OutputType())
	}
	program, err := shared.NewProgram(env, ast)
	if err != nil {
		return nil, fmt.Errorf("program instantiation failed: %w", err)
	}
	return &Condition{source, program}, nil
}

// match reports whether all conditions are true. If one is false, errors of others are ignored.
func match(ctx context.Context, conditions []*Condition, spec *authorizationv1.SubjectAccessReviewSpec) (bool, error) {
	var errs []error
	variables := map[string]any{"request": conditionRequest(spec)}
	for _, c := range conditions {
		result, _, err := c.program.Eval(ctx, variables)
		if err != nil {
			errs = append(errs, fmt.Errorf("match condition %q: %w", c.source, err))
			continue
		}
		if result != types.True {
			return false, nil
		}
	}
	return len(errs) == 0, errors.Join(errs...)
}
