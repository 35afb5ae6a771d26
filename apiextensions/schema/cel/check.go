package cel

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// Check compiles the rules of a structural schema whose root is at path, and
// estimates their costs. Nodes of which skip reports true are left out, and so is
// everything when ctx ends.
func Check(ctx context.Context, path *field.Path, root *schema.Schema, skip func(*field.Path) bool) field.ErrorList {
	if !hasRules(root) {
		return nil
	}
	t, n := newTree(root)
	e, err := t.env()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	c := &checkerState{ctx: ctx, env: e, tree: t, skip: skip}
	c.node(path, root, n, nil, 1)
	c.settle(path)
	return c.errs
}

// checkerState is what a check found so far.
type checkerState struct {
	ctx      context.Context //nolint:containedctx // of the request
	env      *cel.Env
	tree     *tree
	skip     func(*field.Path) bool
	errs     field.ErrorList
	total    uint64
	expenses []expense
}

// node checks a schema. uncorrelated is the list within which old values cannot
// be found, nil where they can; often is how many values there can be,
// unbounded where only the size of the request says.
func (c *checkerState) node(path *field.Path, s *schema.Schema, n *node, uncorrelated *field.Path, often uint64) {
	if c.ctx.Err() != nil || !hasRules(s) {
		return
	}
	if n == nil {
		n = c.tree.node(s, c.tree.unseen(), s.Embedded)
	}
	c.rules(path, s, n, uncorrelated, often)
	if s.Items != nil {
		within := uncorrelated
		if within == nil && s.ListType != "map" {
			within = path
		}
		c.node(path.Child("items"), s.Items, n.element(), within, below(often, s))
	}
	if s.Additional != nil {
		c.node(path.Child("additionalProperties"), s.Additional, n.element(), uncorrelated, below(often, s))
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		c.node(path.Child("properties").Key(name), s.Properties[name], n.field(name), uncorrelated, often)
	}
}

func (c *checkerState) add(e *field.Error) { c.errs = append(c.errs, e) }

func (c *checkerState) rules(path *field.Path, s *schema.Schema, n *node, uncorrelated *field.Path, often uint64) {
	if len(s.Rules) == 0 || c.skip(path) {
		return
	}
	at := path.Child("x-kubernetes-validations")
	if n == nil {
		c.add(field.InternalError(at, errors.New(
			"internal error: failed to construct type information for x-kubernetes-validations rules: "+
				"unable to convert structural schema to CEL declarations")))
		return
	}
	sees := n.environment(c.env)
	for i := range s.Rules {
		if c.ctx.Err() != nil {
			return
		}
		c.rule(at.Index(i), n, sees, &s.Rules[i], uncorrelated, often)
	}
}

func (c *checkerState) rule(path *field.Path, n *node, sees environment, spec *apiextensionsv1.ValidationRule,
	uncorrelated *field.Path, often uint64) {
	r, messageErr := compileRule(sees, spec)
	unusedOld := func() {
		if set := spec.OptionalOldSelf; set != nil && !r.transition() {
			c.add(field.Invalid(path.Child("optionalOldSelf"), *set, "may not be set if oldSelf is not used in rule"))
		}
	}
	if r.err != nil {
		c.add(field.Invalid(path.Child("rule"), shown(spec), r.err.Error()))
		unusedOld()
		return
	}
	if messageErr != nil {
		c.add(field.Invalid(path.Child("messageExpression"), shown(spec), said(messageErr)))
	}
	c.costs(path, n, sees, r, often)
	if r.transition() && uncorrelated != nil {
		c.add(field.Invalid(path.Child("rule"), spec.Rule,
			"oldSelf cannot be used on the uncorrelatable portion of the schema within "+uncorrelated.String()))
	}
	unusedOld()
}

// said is how an error of a messageExpression begins.
func said(err error) string {
	msg := strings.TrimPrefix(err.Error(), "program ")
	if strings.HasPrefix(msg, "messageExpression") {
		return msg
	}
	return "messageExpression " + msg
}

func (c *checkerState) costs(path *field.Path, n *node, sees environment, r *rule, often uint64) {
	if often == unbounded {
		often = uint64(maxRequest / (minBytes(n.schema) + 1))
	}
	e, err := sees(r.optionalOld())
	if err != nil {
		return
	}
	if most, err := cost(e, r.program, n); err == nil {
		c.spend(path.Child("rule"), "rule", most, often)
	}
	if r.message != nil {
		if most, err := cost(e, r.message, n); err == nil {
			c.spend(path.Child("messageExpression"), "messageExpression", most, 1) // one message, however many values
		}
	}
}

// shown is a rule as messages show it.
func shown(spec *apiextensionsv1.ValidationRule) any {
	var out apiextensions.ValidationRule
	if err := apiextensionsv1.Convert_v1_ValidationRule_To_apiextensions_ValidationRule(spec, &out, nil); err != nil {
		return spec.Rule
	}
	return out
}
