package cel

import (
	"context"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/apiextensions/schema"
)

// Check validates the rules of a structural schema whose root is at path.
func Check(_ context.Context, path *field.Path, root *schema.Schema) field.ErrorList {
	if !hasRules(root) {
		return nil
	}
	t, n := newTree(root)
	e, err := t.env()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	c := &checkerState{env: e}
	c.node(path, root, n, nil, 1)
	c.settle(path)
	return c.errs
}

// checkerState is what a check found so far.
type checkerState struct {
	env      *cel.Env
	errs     field.ErrorList
	total    uint64
	expenses []expense
}

// node checks a schema. uncorrelated is the list within which old values cannot
// be found, nil where they can; often is how many values there can be,
// unbounded where only the size of the request says.
func (c *checkerState) node(path *field.Path, s *schema.Schema, n *node, uncorrelated *field.Path, often uint64) {
	if !hasRules(s) {
		return
	}
	for i := range s.Props.XValidations {
		if n != nil { // rules see nothing of what has no type, and are not evaluated
			c.rule(path.Child("x-kubernetes-validations").Index(i), n, &s.Props.XValidations[i], uncorrelated, often)
		}
	}
	var elem *node
	if n != nil {
		elem = n.elem
	}
	if s.Items != nil {
		within := uncorrelated
		if within == nil && s.ListType != "map" {
			within = path
		}
		c.node(path.Child("items"), s.Items, elem, within, below(often, s))
	}
	if s.Additional != nil {
		c.node(path.Child("additionalProperties"), s.Additional, elem, uncorrelated, below(often, s))
	}
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		var child *node
		if n != nil && n.fields[Escape(name)] != nil {
			child = n.fields[Escape(name)].node
		}
		c.node(path.Child("properties").Key(name), s.Properties[name], child, uncorrelated, often)
	}
}

func (c *checkerState) add(e *field.Error) { c.errs = append(c.errs, e) }

func (c *checkerState) rule(path *field.Path, n *node, spec *apiextensionsv1.ValidationRule, uncorrelated *field.Path, often uint64) {
	empty := strings.TrimSpace(spec.Rule) == ""
	if empty {
		c.add(field.Required(path.Child("rule"), "rule is not specified"))
	}
	understood := c.words(path, spec)
	c.reason(path, spec)
	c.fieldPath(path, n, spec)
	if empty || !understood {
		return
	}
	r, messageErr := compileRule(c.env, n, spec)
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
	if r.transition() && uncorrelated != nil {
		c.add(field.Invalid(path.Child("rule"), spec.Rule,
			"oldSelf cannot be used on the uncorrelatable portion of the schema within "+uncorrelated.String()))
	}
	unusedOld()
	c.costs(path, n, r, often)
}

// said is how an error of a messageExpression begins.
func said(err error) string {
	if msg := err.Error(); !strings.HasPrefix(msg, "messageExpression") {
		return "messageExpression " + msg
	}
	return err.Error()
}

func (c *checkerState) costs(path *field.Path, n *node, r *rule, often uint64) {
	if often == unbounded {
		often = uint64(maxRequest / (minBytes(n.schema) + 1))
	}
	e, err := n.forRule(c.env, r.optionalOld())
	if err != nil {
		return
	}
	if most, err := cost(e, r.program, n); err == nil {
		c.spend(path.Child("rule"), "rule", most, often)
	}
	if r.message != nil {
		if most, err := cost(e, r.message, n); err == nil {
			c.spend(path.Child("messageExpression"), "messageExpression", most, often)
		}
	}
}

// words validates the message.
func (c *checkerState) words(path *field.Path, spec *apiextensionsv1.ValidationRule) bool {
	before := len(c.errs)
	breaks := func(s string) bool { return strings.ContainsAny(s, "\n\r") }
	switch {
	case spec.Message != "" && strings.TrimSpace(spec.Message) == "":
		c.add(field.Invalid(path.Child("message"), spec.Message, "must be non-empty if specified"))
	case breaks(strings.TrimSpace(spec.Message)):
		c.add(field.Invalid(path.Child("message"), spec.Message, "must not contain line breaks"))
	case spec.Message == "" && breaks(strings.TrimSpace(spec.Rule)):
		c.add(field.Required(path.Child("message"), "message must be specified if rule contains line breaks"))
	}
	if spec.MessageExpression != "" && strings.TrimSpace(spec.MessageExpression) == "" {
		c.add(field.Required(path.Child("messageExpression"), "messageExpression must be non-empty if specified"))
	}
	return len(c.errs) == before
}

func (c *checkerState) reason(path *field.Path, spec *apiextensionsv1.ValidationRule) {
	supported := []string{
		string(apiextensionsv1.FieldValueDuplicate), string(apiextensionsv1.FieldValueForbidden),
		string(apiextensionsv1.FieldValueInvalid), string(apiextensionsv1.FieldValueRequired),
	}
	if spec.Reason != nil && !slices.Contains(supported, string(*spec.Reason)) {
		c.add(field.NotSupported(path.Child("reason"), *spec.Reason, supported))
	}
}

func (c *checkerState) fieldPath(path *field.Path, n *node, spec *apiextensionsv1.ValidationRule) {
	if spec.FieldPath == "" {
		return
	}
	at := path.Child("fieldPath")
	if strings.TrimSpace(spec.FieldPath) == "" {
		c.add(field.Invalid(at, spec.FieldPath, "must be non-empty if specified"))
	}
	if strings.ContainsAny(spec.FieldPath, "\n\r") {
		c.add(field.Invalid(at, spec.FieldPath, "must not contain line breaks"))
	}
	names, err := splitFieldPath(spec.FieldPath)
	if err != nil || n.schema.At(names) == nil {
		c.add(field.Invalid(at, spec.FieldPath, "must be a valid path"))
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
