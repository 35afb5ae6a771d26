package check

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NodeSelector validates a selector of nodes.
func NodeSelector(s *corev1.NodeSelector, path *field.Path) field.ErrorList {
	v, terms := &Collector{}, path.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	for i := range s.NodeSelectorTerms {
		v.NodeSelectorTerm(&s.NodeSelectorTerms[i], terms.Index(i), true)
	}
	return v.Errors
}

// NodeSelectorTerm validates a term. labelValues says whether expressions compare
// with values that a label can have; what is only preferred may compare with any.
func (v *Collector) NodeSelectorTerm(t *corev1.NodeSelectorTerm, path *field.Path, labelValues bool) {
	for i := range t.MatchExpressions {
		v.nodeExpression(&t.MatchExpressions[i], path.Child("matchExpressions").Index(i), labelValues)
	}
	for i := range t.MatchFields {
		v.nodeField(&t.MatchFields[i], path.Child("matchFields").Index(i))
	}
}

func (v *Collector) nodeExpression(r *corev1.NodeSelectorRequirement, path *field.Path, labelValues bool) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			v.Add(field.Required(path.Child("values"), "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			v.Add(field.Forbidden(path.Child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			v.Add(field.Required(path.Child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		v.Add(field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	v.Messages(utilvalidation.IsQualifiedName(r.Key), r.Key, path.Child("key"))
	if !labelValues {
		return
	}
	for i, value := range r.Values {
		v.Messages(utilvalidation.IsValidLabelValue(value), value, path.Child("values").Index(i))
	}
}

func (v *Collector) nodeField(r *corev1.NodeSelectorRequirement, path *field.Path) {
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			v.Add(field.Required(path.Child("values"),
				"must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		v.Add(field.Invalid(path.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		v.Add(field.Invalid(path.Child("key"), r.Key, "not a valid field selector key"))
		return
	}
	for i, value := range r.Values {
		v.Subdomain(value, path.Child("values").Index(i))
	}
}
