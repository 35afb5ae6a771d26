package controllers

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
	"triplane.dev/apiextensions/validation"
)

type definition = *apiextensionsv1.CustomResourceDefinition

// SetCondition adds a condition to a CRD or replaces the one of its type. The
// transition time moves only where the status changes.
func SetCondition(crd definition, c apiextensionsv1.CustomResourceDefinitionCondition) {
	c.LastTransitionTime = metav1.Now().Rfc3339Copy()
	for i := range crd.Status.Conditions {
		old := &crd.Status.Conditions[i]
		if old.Type != c.Type {
			continue
		}
		if old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
		*old = c
		return
	}
	crd.Status.Conditions = append(crd.Status.Conditions, c)
}

// Condition returns the condition of a type, nil if there is none.
func Condition(crd definition, t apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range crd.Status.Conditions {
		if crd.Status.Conditions[i].Type == t {
			return &crd.Status.Conditions[i]
		}
	}
	return nil
}

func removeCondition(crd definition, t apiextensionsv1.CustomResourceDefinitionConditionType) {
	kept := crd.Status.Conditions[:0]
	for _, c := range crd.Status.Conditions {
		if c.Type != t {
			kept = append(kept, c)
		}
	}
	crd.Status.Conditions = kept
}

func setApproval(crd definition) {
	state, reason := validation.ApprovalOf(crd)
	c := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.KubernetesAPIApprovalPolicyConformant, Status: apiextensionsv1.ConditionFalse, Message: reason,
	}
	switch state {
	case validation.NotNeeded:
		return
	case validation.InvalidApproval:
		c.Reason = "InvalidAnnotation"
	case validation.Missing:
		c.Reason = "MissingAnnotation"
	case validation.Bypassed:
		c.Reason = "UnapprovedAnnotation"
	case validation.Approved:
		c.Status, c.Reason = apiextensionsv1.ConditionTrue, "ApprovedAnnotation"
	}
	SetCondition(crd, c)
}

// setStructural sets the condition of schemas that are not structural. Validation lets none
// in; those of old definitions were kept.
func setStructural(crd definition) {
	c := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.NonStructuralSchema}
	errs, err := violations(crd)
	switch {
	case err != nil:
		c.Status, c.Reason, c.Message = apiextensionsv1.ConditionUnknown, "StructuralError", err.Error()
	case len(errs) > 0:
		c.Status, c.Reason, c.Message = apiextensionsv1.ConditionTrue, "Violations", errs.ToAggregate().Error()
	default:
		removeCondition(crd, c.Type)
		return
	}
	SetCondition(crd, c)
}

// violations returns what keeps the schemas of a definition from being structural; err is what
// a skeleton cannot hold.
func violations(crd definition) (errs field.ErrorList, err error) {
	if !crd.Spec.PreserveUnknownFields {
		return nil, nil
	}
	errs = append(errs, field.Invalid(field.NewPath("spec", "preserveUnknownFields"), true, "must be false"))
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil {
			continue
		}
		s, err := validation.ReadStructural(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("failed to check validation schema for version %s: %w", v.Name, err)
		}
		errs = append(errs, schema.Check(versionPath(i), s)...)
	}
	return errs, nil
}
