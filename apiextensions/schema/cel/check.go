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

// Check judges the rules of a structural schema whose root is at path.
func Check(ctx context.Context, path *field.Path, root *schema.Schema) field.ErrorList {
	if !hasRules(root) {
		return nil
	}
	t, n := newTree(root)
	e, err := t.env()
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	c := &checker{env: e}
	c.node(path, root, n, nil)
	return c.errs
}

type checker struct {
	env  *cel.Env
	errs field.ErrorList
}

// node checks a schema. uncorrelated is the list within which old values cannot
// be found, nil where they can.
func (c *checker) node(path *field.Path, s *schema.Schema, n *node, uncorrelated *field.Path) {
	if !hasRules(s) {
		return
	}
	for i := range s.Props.XValidations {
		c.rule(path.Child("x-kubernetes-validations").Index(i), n, &s.Props.XValidations[i], uncorrelated)
	}
	var elem *node
	if n != nil {
		elem = n.elem
	}
	if s.Items != nil {
		below := uncorrelated
		if below == nil && s.ListType != "map" {
			below = path
		}
		c.node(path.Child("items"), s.Items, elem, below)
	}
	if s.Additional != nil {
		c.node(path.Child("additionalProperties"), s.Additional, elem, uncorrelated)
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
		c.node(path.Child("properties").Key(name), s.Properties[name], child, uncorrelated)
	}
}

func (c *checker) add(e *field.Error) { c.errs = append(c.errs, e) }

func (c *checker) rule(path *field.Path, n *node, spec *apiextensionsv1.ValidationRule, uncorrelated *field.Path) {
	if strings.TrimSpace(spec.Rule) == "" {
		c.add(field.Required(path.Child("rule"), "rule is not specified"))
		return
	}
	if !c.words(path, spec) {
		return
	}
	c.reason(path, spec)
	if n == nil {
		c.add(field.Invalid(path.Child("rule"), shown(spec), "compilation failed: the schema has no type that rules can see"))
		return
	}
	c.fieldPath(path, n, spec)
	r, messageErr := compileRule(c.env, n, spec)
	if r.err != nil {
		c.add(field.Invalid(path.Child("rule"), shown(spec), r.err.Error()))
		return
	}
	if messageErr != nil {
		c.add(field.Invalid(path.Child("messageExpression"), shown(spec), "messageExpression "+messageErr.Error()))
	}
	if r.transition() && uncorrelated != nil {
		c.add(field.Invalid(path.Child("rule"), shown(spec),
			"oldSelf cannot be used on the uncorrelatable portion of the schema within "+uncorrelated.String()))
	}
	if r.optionalOld() && !r.transition() {
		c.add(field.Invalid(path.Child("optionalOldSelf"), true, "may not be set if oldSelf is not used in rule"))
	}
}

// words judges the message.
func (c *checker) words(path *field.Path, spec *apiextensionsv1.ValidationRule) bool {
	before := len(c.errs)
	breaks := func(s string) bool { return strings.ContainsAny(s, "\n\r") }
	switch {
	case spec.Message != "" && strings.TrimSpace(spec.Message) == "":
		c.add(field.Invalid(path.Child("message"), spec.Message, "message must be non-empty if specified"))
	case breaks(strings.TrimSpace(spec.Message)):
		c.add(field.Invalid(path.Child("message"), spec.Message, "message must not contain line breaks"))
	case spec.Message == "" && breaks(strings.TrimSpace(spec.Rule)):
		c.add(field.Required(path.Child("message"), "message must be specified if rule contains line breaks"))
	}
	if spec.MessageExpression != "" && strings.TrimSpace(spec.MessageExpression) == "" {
		c.add(field.Required(path.Child("messageExpression"), "messageExpression must be non-empty if specified"))
	}
	return len(c.errs) == before
}

func (c *checker) reason(path *field.Path, spec *apiextensionsv1.ValidationRule) {
	supported := []string{
		string(apiextensionsv1.FieldValueRequired), string(apiextensionsv1.FieldValueForbidden),
		string(apiextensionsv1.FieldValueInvalid), string(apiextensionsv1.FieldValueDuplicate),
	}
	if spec.Reason != nil && !slices.Contains(supported, string(*spec.Reason)) {
		c.add(field.NotSupported(path.Child("reason"), *spec.Reason, supported))
	}
}

func (c *checker) fieldPath(path *field.Path, n *node, spec *apiextensionsv1.ValidationRule) {
	if spec.FieldPath == "" {
		return
	}
	if strings.TrimSpace(spec.FieldPath) == "" {
		c.add(field.Invalid(path.Child("fieldPath"), spec.FieldPath, "fieldPath must be non-empty if specified"))
		return
	}
	names, err := splitFieldPath(spec.FieldPath)
	if err != nil {
		c.add(field.Invalid(path.Child("fieldPath"), spec.FieldPath, "fieldPath must be a valid path: "+err.Error()))
		return
	}
	if n.schema.At(names) == nil {
		c.add(field.Invalid(path.Child("fieldPath"), spec.FieldPath, "fieldPath must be a valid path: does not refer to a valid field"))
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
