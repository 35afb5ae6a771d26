package validation

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
)

// readSchema reads the schema that rules belong to, once for all of them.
type readSchema func() (*schema.Schema, error)

// validateRule validates what a CEL rule of a schema says besides its expressions.
func validateRule(path *field.Path, read readSchema, rule *apiextensionsv1.ValidationRule) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(rule.Rule) == "" {
		errs = append(errs, field.Required(path.Child("rule"), "rule is not specified"))
	}
	errs = append(errs, validateMessage(path, rule)...)
	if supported := ruleReasons(); rule.Reason != nil && !slices.Contains(supported, string(*rule.Reason)) {
		errs = append(errs, field.NotSupported(path.Child("reason"), *rule.Reason, supported))
	}
	return append(errs, validateRulePath(path.Child("fieldPath"), read, rule.FieldPath)...)
}

func ruleReasons() []string {
	return []string{
		string(apiextensionsv1.FieldValueDuplicate), string(apiextensionsv1.FieldValueForbidden),
		string(apiextensionsv1.FieldValueInvalid), string(apiextensionsv1.FieldValueRequired),
	}
}

func validateMessage(path *field.Path, rule *apiextensionsv1.ValidationRule) field.ErrorList {
	var errs field.ErrorList
	message := strings.TrimSpace(rule.Message)
	switch {
	case strings.TrimSpace(rule.Rule) == "": // that is the error
	case rule.Message != "" && message == "":
		errs = append(errs, field.Invalid(path.Child("message"), rule.Message, "must be non-empty if specified"))
	case hasLineBreak(message):
		errs = append(errs, field.Invalid(path.Child("message"), rule.Message, "must not contain line breaks"))
	case message == "" && hasLineBreak(strings.TrimSpace(rule.Rule)):
		errs = append(errs, field.Required(path.Child("message"), "message must be specified if rule contains line breaks"))
	}
	if rule.MessageExpression != "" && strings.TrimSpace(rule.MessageExpression) == "" {
		errs = append(errs, field.Required(path.Child("messageExpression"),
			"messageExpression must be non-empty if specified"))
	}
	return errs
}

func hasLineBreak(s string) bool { return strings.ContainsAny(s, "\n\r") }

// validateRulePath wants the path of a rule's errors to be one in its schema.
func validateRulePath(at *field.Path, read readSchema, path string) field.ErrorList {
	if path == "" {
		return nil
	}
	var errs field.ErrorList
	if strings.TrimSpace(path) == "" {
		errs = append(errs, field.Invalid(at, path, "must be non-empty if specified"))
	}
	if hasLineBreak(path) {
		errs = append(errs, field.Invalid(at, path, "must not contain line breaks"))
	}
	s, err := read()
	if err != nil {
		return errs // said elsewhere
	}
	if names, err := schema.ParseFieldPath(path); err != nil || s.At(names) == nil {
		errs = append(errs, field.Invalid(at, path, "must be a valid path"))
	}
	return errs
}
