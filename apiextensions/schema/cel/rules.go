package cel

import (
	"strings"

	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// rule is a compiled rule of a node.
type rule struct {
	spec    *apiextensionsv1.ValidationRule
	program *program
	message *program // nil without messageExpression
	err     error    // why it could not be compiled
}

// transition says that the rule validates a change, and so needs an old value.
func (r *rule) transition() bool { return r.program != nil && r.program.usesOld }

func (r *rule) optionalOld() bool { return r.spec.OptionalOldSelf != nil && *r.spec.OptionalOldSelf }

// compileRule compiles one rule; messageErr is about its messageExpression.
func compileRule(sees environment, spec *apiextensionsv1.ValidationRule) (r *rule, messageErr error) {
	r = &rule{spec: spec}
	ruleEnv, err := sees(r.optionalOld())
	if err != nil {
		r.err = err
		return r, nil
	}
	if r.program, r.err = compile(ruleEnv, spec.Rule, types.BoolType,
		"cel expression must evaluate to a bool"); r.err != nil {
		return r, nil
	}
	if spec.MessageExpression == "" {
		return r, nil
	}
	r.message, messageErr = compile(ruleEnv, spec.MessageExpression, types.StringType,
		"messageExpression must evaluate to a string")
	return r, messageErr
}

// text is the message of a rule that declares none.
func (r *rule) text() string {
	if m := strings.TrimSpace(r.spec.Message); m != "" {
		return m
	}
	return "failed rule: " + strings.TrimSpace(r.spec.Rule)
}

// name is how errors of evaluation call the rule.
func (r *rule) name() string {
	if m := strings.TrimSpace(r.spec.Message); m != "" {
		return m
	}
	return strings.TrimSpace(r.spec.Rule)
}

// said is the error of a rule that did not hold.
func (r *rule) said(at *field.Path, value any, message string) *field.Error {
	reason := apiextensionsv1.FieldValueInvalid
	if r.spec.Reason != nil {
		reason = *r.spec.Reason
	}
	switch reason {
	case apiextensionsv1.FieldValueForbidden:
		return field.Forbidden(at, message)
	case apiextensionsv1.FieldValueRequired:
		return field.Required(at, message)
	case apiextensionsv1.FieldValueDuplicate:
		return field.Duplicate(at, value)
	}
	return field.Invalid(at, value, message)
}

// fieldPath is where the rule's errors are reported: below its own place where it
// says so.
func (r *rule) fieldPath(at *field.Path, n *node) *field.Path {
	if r.spec.FieldPath == "" {
		return at
	}
	names, err := schema.ParseFieldPath(r.spec.FieldPath)
	if err != nil {
		return at
	}
	s := n.schema
	for _, name := range names {
		if p := s.Properties[name]; p != nil {
			at, s = at.Child(name), p
			continue
		}
		at = at.Key(name)
		if s = s.Additional; s == nil {
			return at
		}
	}
	return at
}
