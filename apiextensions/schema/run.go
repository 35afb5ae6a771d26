package schema

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
	openapierrors "k8s.io/kube-openapi/pkg/validation/errors"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"triplane.dev/generic/api/rest"
	"triplane.dev/internal/pattern"
)

const (
	// fewValues is the size of values that the library validates by itself.
	fewValues = 100
	// maxErrors bounds the errors of the parts of a value. The library compares each error
	// with all others, at each level of the value.
	maxErrors = rest.MaxCauses
)

// run is one validation of a large value, or of one that replaces another. It reports what
// validate.SchemaValidator reports, but ends with its context, and at maxErrors.
type run struct {
	ctx     context.Context //nolint:containedctx // of the request
	steps   int
	formats strfmt.Registry
}

// expired is the panic of a run whose context has ended. It stays within the package.
type expired struct{ err error }

// runNode is a run at a value and its schema.
type runNode struct {
	*run
	schema *spec.Schema
	root   any
	path   string
	// structural and previous find out which values have not changed; previous is nil
	// where all are validated.
	structural *Schema
	previous   func(value any) (old any, found bool)
	// siblings collects the errors of the parts of one value.
	siblings *siblings
}

var _ validate.ValueValidator = (*runNode)(nil)

// siblings is also the panic that ends the validation of the value whose parts have too many errors.
type siblings struct{ errs []error }

// validate validates a value as a whole. The errors of a value are empty if it is valid.
func (n *runNode) validate(path *field.Path, value any) (errs field.ErrorList) {
	defer func() {
		if e := recover(); e != nil {
			end, ok := e.(expired)
			if !ok {
				panic(e)
			}
			errs = field.ErrorList{rest.Unvalidated(end.err)}
		}
	}()
	return fieldErrors(path, n.Validate(value))
}

// check ends a run whose context has ended.
func (r *run) check() {
	if r.steps++; r.steps%64 == 0 {
		if err := r.ctx.Err(); err != nil {
			panic(expired{err})
		}
	}
}

// SetPath implements validate.ValueValidator.
func (n *runNode) SetPath(path string) { n.path = path }

// Applies implements validate.ValueValidator.
func (n *runNode) Applies(source any, _ reflect.Kind) bool {
	_, ok := source.(*spec.Schema)
	return ok
}

// Validate implements validate.ValueValidator. It lets pass what equals its predecessor.
func (n *runNode) Validate(value any) *validate.Result {
	n.check()
	var old any
	found := false
	if n.previous != nil {
		old, found = n.previous(value)
	}
	result := n.whole(value, old, found)
	n.check()
	if found && !result.IsValid() && n.structural.Unchanged(value, old) {
		result = &validate.Result{}
	}
	if s := n.siblings; s != nil && !result.IsValid() {
		if s.errs = append(s.errs, result.Errors...); len(s.errs) >= maxErrors {
			panic(s)
		}
	}
	return result
}

// whole validates a value with all below it.
func (n *runNode) whole(value, old any, found bool) (result *validate.Result) {
	parts := &siblings{}
	defer func() {
		if e := recover(); e != nil {
			if e != any(parts) {
				panic(e)
			}
			result = &validate.Result{Errors: parts.errs[:maxErrors]}
		}
	}()
	s := n.schema
	if text, ok := value.(string); ok && pattern.Long(text, s.Pattern) {
		plain := *s
		plain.Pattern = ""
		c := *n
		c.schema = &plain
		return n.validateLong(text, c.whole(value, old, found))
	}
	if value == nil || len(s.AnyOf)+len(s.OneOf)+len(s.AllOf) == 0 && s.Not == nil {
		return validate.NewSchemaValidator(s, n.root, n.path, n.formats, n.below(parts, old, found)).Validate(value)
	}
	plain := *s
	plain.AnyOf, plain.OneOf, plain.AllOf, plain.Not = nil, nil, nil, nil
	own := validate.NewSchemaValidator(&plain, n.root, n.path, n.formats, n.below(parts, old, found)).Validate(value)
	return n.inOrder(own, n.combined(value))
}

// inOrder merges the errors of combined schemas after those of the type, as the library does.
func (n *runNode) inOrder(own, combined *validate.Result) *validate.Result {
	first := 0
	if len(own.Errors) > 0 {
		var e *openapierrors.Validation
		if errors.As(own.Errors[0], &e) && e.Code() == openapierrors.InvalidTypeCode && e.Name == n.path {
			first = 1
		}
	}
	result := &validate.Result{MatchCount: own.MatchCount + combined.MatchCount}
	result.AddErrors(own.Errors[:first]...)
	result.AddErrors(combined.Errors...)
	result.AddErrors(own.Errors[first:]...)
	return result
}

// below validates fields and items, as successors of those of old if that was found.
func (n *runNode) below(parts *siblings, old any, found bool) validate.Option {
	fields, _ := old.(map[string]any)
	var find func(any) (any, bool)
	var items *Schema
	if entries, ok := old.([]any); ok && n.structural != nil {
		find, items = n.structural.Correlate(entries), n.structural.Items
	}
	return func(o *validate.SchemaValidatorOptions) {
		o.NewValidatorForField = func(name string, s *spec.Schema, root any, path string, _ strfmt.Registry,
			_ ...validate.Option) validate.ValueValidator {
			c := &runNode{run: n.run, schema: s, root: root, path: path, siblings: parts}
			if !found {
				return c
			}
			if n.structural != nil {
				c.structural, _ = n.structural.child(name)
			}
			c.previous = func(any) (any, bool) { v, ok := fields[name]; return v, ok }
			return c
		}
		o.NewValidatorForIndex = func(_ int, s *spec.Schema, root any, path string, _ strfmt.Registry,
			_ ...validate.Option) validate.ValueValidator {
			return &runNode{run: n.run, schema: s, root: root, path: path, siblings: parts,
				structural: items, previous: find}
		}
	}
}

// validateLong validates a string against a schema whose pattern can take longer than a request.
func (n *runNode) validateLong(value string, others *validate.Result) *validate.Result {
	s := n.schema
	runes := int64(utf8.RuneCountInString(value))
	if s.MaxLength != nil && runes > *s.MaxLength || s.MinLength != nil && runes < *s.MinLength {
		return others // the library does not match a pattern then
	}
	re, err := regexp.Compile(s.Pattern)
	if err != nil {
		return others // the schema was stored by another server, which validated it
	}
	matched, err := pattern.Match(re, value, func() bool { return n.ctx.Err() != nil })
	if err != nil {
		panic(expired{n.ctx.Err()})
	}
	if !matched {
		others.AddErrors(openapierrors.FailedPattern(n.path, "body", s.Pattern, value))
	}
	return others
}

// few reports whether a value has no more than the number of values in it, which it counts down, and no
// string that is longer than longText.
func few(v any, left *int, longText int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch x := v.(type) {
	case string:
		return len(x) <= longText
	case map[string]any:
		for _, e := range x {
			if !few(e, left, longText) {
				return false
			}
		}
	case []any:
		for _, e := range x {
			if !few(e, left, longText) {
				return false
			}
		}
	}
	return true
}
