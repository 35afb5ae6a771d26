package cel

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
	"triplane.dev/generic/base/request"
)

// Validator validates values by the rules of a schema, each of which it compiles when
// there is a value that it is of. It is safe for concurrent use.
type Validator struct {
	schema  *schema.Schema
	metrics *Metrics
	load    func() (*ruleTree, error)
}

// NewValidator returns the validator of a schema, nil where it has no rules. m counts what
// it does, nil nothing.
func NewValidator(s *schema.Schema, m *Metrics) *Validator {
	if !hasRules(s) {
		return nil
	}
	v := &Validator{schema: s, metrics: m}
	v.load = sync.OnceValues(v.compile)
	return v
}

func hasRules(s *schema.Schema) bool {
	if s == nil {
		return false
	}
	if hasOwnRules(s) {
		return true
	}
	if hasRules(s.Items) || hasRules(s.Additional) {
		return true
	}
	for _, p := range s.Properties {
		if hasRules(p) {
			return true
		}
	}
	return false
}

func hasOwnRules(s *schema.Schema) bool { return len(s.Rules) > 0 }

// ruleTree is the compiled form of a schema's rules, a tree like it without the
// branches that have none.
type ruleTree struct {
	schema     *schema.Schema
	node       *node          // nil where rules cannot see the value
	rules      []func() *rule // each compiles one once, when a value is there
	misplaced  bool           // the schema above is of a type without elements: the rules of items cannot be compiled
	properties map[string]*ruleTree
	items      *ruleTree
	additional *ruleTree
}

func (v *Validator) compile() (*ruleTree, error) {
	t, root := newTree(v.schema)
	t.metrics = v.metrics
	e, err := t.env()
	if err != nil {
		return nil, err
	}
	j := t.rules(e, v.schema, root)
	j.misplaced = root == nil && hasOwnRules(v.schema)
	return j, nil
}

// rules returns the tree of a schema's rules. A part of a schema that rules cannot see
// is typed by itself.
func (t *tree) rules(e *cel.Env, s *schema.Schema, n *node) *ruleTree {
	if !hasRules(s) {
		return nil
	}
	if n == nil {
		n = t.node(s, t.unseen(), s.Embedded)
	}
	j := &ruleTree{schema: s, node: n, properties: map[string]*ruleTree{}}
	if hasOwnRules(s) && n != nil {
		j.rules = t.compile(e, s, n)
	}
	if j.items = t.rules(e, s.Items, n.element()); j.items != nil {
		j.items.misplaced = n != nil && n.elem == nil && hasOwnRules(s.Items)
	}
	if s.Additional != nil {
		j.additional = t.rules(e, s.Additional, n.element())
	}
	for name, p := range s.Properties {
		if c := t.rules(e, p, n.field(name)); c != nil {
			j.properties[name] = c
		}
	}
	return j
}

// compile returns a function for each rule of one schema, which compiles it once.
func (t *tree) compile(e *cel.Env, s *schema.Schema, n *node) []func() *rule {
	sees := n.environment(e)
	rules := make([]func() *rule, len(s.Rules))
	var took, compiled atomic.Int64
	for i := range s.Rules {
		rules[i] = sync.OnceValue(func() *rule {
			begun := time.Now()
			r, _ := compileRule(sees, &s.Rules[i])
			total := took.Add(int64(time.Since(begun)))
			if int(compiled.Add(1)) == len(rules) { // the metric counts schemas, not rules
				t.metrics.ruleSetCompiled(time.Duration(total))
			}
			return r
		})
	}
	return rules
}

// Validate validates a value, and its change from old where that is not nil.
func (v *Validator) Validate(ctx context.Context, path *field.Path, value, old any) field.ErrorList {
	j, err := v.load()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	if j == nil {
		return nil
	}
	w := &walk{ctx: ctx, left: budget, metrics: v.metrics}
	w.value(path, j, value, predecessor{value: old, found: old != nil, root: true})
	return w.errs
}

// ValidateDefault validates the default of a schema by the rules there. It replaces
// itself, so that transition rules have to hold too.
func ValidateDefault(ctx context.Context, path *field.Path, s *schema.Schema, value any) field.ErrorList {
	if !hasRules(s) {
		return nil
	}
	t := &tree{structs: map[string]*node{}}
	root := t.node(s, "selfType", s.Embedded)
	e, err := t.env()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	w := &walk{ctx: ctx, left: budget, whole: true}
	w.value(path, t.rules(e, s, root), value, predecessor{value: value, found: true})
	return w.errs
}

// walk is one judgement of an object.
type walk struct {
	ctx  context.Context
	left int64 // of the budget
	// whole validates by all rules, those of unchanged values included.
	whole   bool
	metrics *Metrics
	errs    field.ErrorList
}

// predecessor is the value that another replaces.
type predecessor struct {
	value any
	found bool
	// root says that the value is the whole object, whose rules hold at each update.
	root bool
	// unchanged says that a value in which the new one lies is equal to what it
	// replaces.
	unchanged bool
}

func (w *walk) value(path *field.Path, j *ruleTree, v any, old predecessor) {
	if j == nil || v == nil || w.left < 0 {
		return
	}
	old.found = old.found && old.value != nil
	old.unchanged = !w.whole && !old.root && (old.unchanged || old.found && j.schema.Unchanged(v, old.value))
	if j.misplaced {
		w.errs = append(w.errs, field.Invalid(path, j.schema.Type,
			"rule compiler initialization error: failed to convert to declType for CEL validation rules"))
	} else if len(j.rules) > 0 {
		w.rules(path, j, v, old)
	}
	switch x := v.(type) {
	case map[string]any:
		before, _ := old.value.(map[string]any)
		below := func(name string) predecessor {
			o, had := before[name]
			return predecessor{value: o, found: old.found && had, unchanged: old.unchanged}
		}
		for name, c := range j.properties {
			if child, ok := x[name]; ok {
				w.value(path.Child(name), c, child, below(name))
			}
		}
		if j.additional != nil {
			for name, child := range x {
				w.value(path.Key(name), j.additional, child, below(name))
			}
		}
	case []any:
		if j.items == nil {
			return
		}
		before, _ := old.value.([]any)
		find := j.schema.Correlate(before)
		for i, child := range x {
			o, had := find(child)
			w.value(path.Index(i), j.items, child, predecessor{value: o, found: old.found && had, unchanged: old.unchanged})
		}
	}
}

func (w *walk) rules(path *field.Path, j *ruleTree, v any, old predecessor) {
	vars := map[string]any{"self": j.node.value(v)}
	for _, compiled := range j.rules {
		if w.ctx.Err() != nil {
			w.left = -1
			return
		}
		r := compiled()
		if r.err != nil {
			w.errs = append(w.errs, field.Invalid(path, j.node.schema.Type, fmt.Sprintf("rule compile error: %v", r.err)))
			continue
		}
		switch {
		case r.transition() && r.optionalOld():
			vars["oldSelf"] = types.OptionalNone
			if old.found {
				vars["oldSelf"] = types.OptionalOf(j.node.value(old.value))
			}
		case r.transition():
			if !old.found {
				continue
			}
			vars["oldSelf"] = j.node.value(old.value)
		}
		w.rule(path, j, r, v, vars, old.unchanged && !r.transition())
		if w.left < 0 {
			return
		}
	}
}

// rule evaluates one rule. What does not satisfy it may stay where it was before the
// rule; the client is warned.
func (w *walk) rule(path *field.Path, j *ruleTree, r *rule, v any, vars map[string]any, stays bool) {
	begun := time.Now()
	out, cost, err := r.program.Eval(w.ctx, vars)
	w.metrics.ruleEvaluated(begun)
	w.charge(cost)
	if err != nil {
		w.errs = append(w.errs, evaluationError(path, j.node.schema.Type, r, err))
	}
	switch {
	case dearCall(err):
		w.left = -1
		return
	case w.left < 0:
		w.errs = append(w.errs, field.Invalid(path, j.node.schema.Type,
			"validation failed due to running out of cost budget, no further validation rules will be run"))
		return
	case err != nil || out == types.True:
		return
	}
	message, failed := w.message(path, j.node.schema.Type, r, vars)
	if failed != nil {
		w.left = -1
		w.errs = append(w.errs, failed)
		return
	}
	var shown any = field.OmitValueType{}
	switch v.(type) {
	case map[string]any, []any:
	default:
		shown = v
	}
	broken := r.said(r.fieldPath(path, j.node), shown, message)
	if stays {
		request.AddWarning(w.ctx, broken.Error())
		return
	}
	w.errs = append(w.errs, broken)
}

func (w *walk) charge(cost uint64) { w.left -= int64(min(cost, perCallLimit)) }

// message is what the rule's messageExpression says, if it says one line. The error is that it
// costs too much, which ends the validation.
func (w *walk) message(path *field.Path, typ string, r *rule, vars map[string]any) (string, *field.Error) {
	if r.message == nil {
		return r.text(), nil
	}
	out, cost, err := r.message.Eval(w.ctx, vars)
	w.charge(cost)
	switch {
	case dearCall(err):
		return "", field.Invalid(path, typ, fmt.Sprintf(
			"no further validation rules will be run due to call cost exceeds limit for messageExpression: %q",
			r.spec.MessageExpression))
	case w.left < 0:
		return "", field.Invalid(path, typ, "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run")
	case err != nil:
		return r.text(), nil
	}
	s, ok := out.(types.String)
	m := strings.TrimSpace(string(s))
	if !ok || m == "" || strings.ContainsAny(m, "\n\r") || len(m) > maxMessage {
		return r.text(), nil
	}
	return m, nil
}

// dearCall reports whether an evaluation was ended as it cost more than any may.
func dearCall(err error) bool {
	return err != nil && strings.Contains(err.Error(), "operation cancelled: actual cost limit exceeded")
}

// maxMessage bounds what a messageExpression may say.
const maxMessage = 5 * 1024

func evaluationError(path *field.Path, typ string, r *rule, err error) *field.Error {
	switch msg := err.Error(); {
	case strings.HasPrefix(msg, "no such overload"):
		return field.Invalid(path, typ, fmt.Sprintf(
			"'%v': call arguments did not match a supported operator, function or macro signature for rule: %v", err, r.name()))
	case dearCall(err):
		return field.Invalid(path, typ, fmt.Sprintf(
			"'%v': no further validation rules will be run due to call cost exceeds limit for rule: %v", err, r.name()))
	case strings.Contains(msg, "operation interrupted"):
		return field.Invalid(path, typ, fmt.Sprintf("'%v': evaluation was interrupted for rule: %v", err, r.name()))
	}
	return field.Invalid(path, typ, fmt.Sprintf("%v evaluating rule: %v", err, r.name()))
}
