package schema

import (
	"fmt"

	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/validate"
)

// combined validates a value by anyOf, oneOf, allOf and not, with the words of the library, which
// gives its validators of fields and items to none of them.
func (n *runNode) combined(value any) *validate.Result {
	result := &validate.Result{}
	n.anyOf(value, result)
	n.oneOf(value, result)
	n.allOf(value, result)
	if n.schema.Not != nil && n.by(n.schema.Not, value).IsValid() {
		n.fails(result, validate.MustNotValidateSchemaError)
	}
	return result
}

// by validates the value by another schema of it.
func (n *runNode) by(s *spec.Schema, value any) *validate.Result {
	return (&runNode{run: n.run, schema: s, root: n.root, path: n.path}).Validate(value)
}

// fails adds an error of the value as a whole.
func (n *runNode) fails(result *validate.Result, format string, more ...any) {
	result.AddErrors(openapierrors.New(openapierrors.CompositeErrorCode, format, append([]any{n.path}, more...)...))
}

func (n *runNode) anyOf(value any, result *validate.Result) {
	var best *validate.Result
	for i := range n.schema.AnyOf {
		r := n.by(&n.schema.AnyOf[i], value)
		if r.IsValid() {
			result.Merge(r)
			return
		}
		if best == nil || r.MatchCount > best.MatchCount {
			best = r
		}
	}
	if best != nil {
		n.fails(result, validate.MustValidateAtLeastOneSchemaError)
		result.Merge(best)
	}
}

func (n *runNode) oneOf(value any, result *validate.Result) {
	if len(n.schema.OneOf) == 0 {
		return
	}
	var best, success *validate.Result
	valid := 0
	for i := range n.schema.OneOf {
		r := n.by(&n.schema.OneOf[i], value)
		switch {
		case r.IsValid():
			valid++
			best = nil
			if success == nil {
				success = r
			}
		case valid == 0 && (best == nil || r.MatchCount > best.MatchCount):
			best = r
		}
	}
	switch valid {
	case 1:
		result.Merge(success)
	case 0:
		n.fails(result, validate.MustValidateOnlyOneSchemaError, "Found none valid")
		result.Merge(best)
	default:
		n.fails(result, validate.MustValidateOnlyOneSchemaError, fmt.Sprintf("Found %d valid alternatives", valid))
	}
}

func (n *runNode) allOf(value any, result *validate.Result) {
	if len(n.schema.AllOf) == 0 {
		return
	}
	valid := 0
	for i := range n.schema.AllOf {
		r := n.by(&n.schema.AllOf[i], value)
		if r.IsValid() {
			valid++
		}
		result.Merge(r)
	}
	if valid == len(n.schema.AllOf) {
		return
	}
	none := ""
	if valid == 0 {
		none = ". None validated"
	}
	n.fails(result, validate.MustValidateAllSchemasError, none)
}
