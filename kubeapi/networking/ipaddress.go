package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func ipAddressKind() kind.Kind[*networkingv1.IPAddress] {
	type address = *networkingv1.IPAddress
	return kind.Kind[address]{
		Representation: kind.Typed[address]{Versions: kind.SameFields[address]("v1beta1")},
		Names:          kind.Names{ShortNames: []string{"ip"}},
		Write: kind.Write[address]{
			ValidateName: validIP,
			// An address with a suffix is not an address.
			GenerateName:             func(prefix string) string { return prefix },
			Validate:                 kind.Whole(validateAddress),
			Fixed:                    []string{"spec.parentRef"},
			AllowUnconditionalUpdate: kind.Always,
		},
		Columns: []kind.Column{show.Name(), show.Text("ParentRef", ".spec.parentRef")},
		Show: kind.Show[address]{
			Cells: func(a address, since func(metav1.Time) string) []any {
				return []any{a.Name, parentText(a.Spec.ParentRef), since(a.CreationTimestamp)}
			},
		},
	}
}

func parentText(p *networkingv1.ParentReference) string {
	if p == nil {
		return "<none>"
	}
	resource := p.Resource
	if p.Group != "" {
		resource += "." + p.Group
	}
	parts := []string{resource}
	if p.Namespace != "" {
		parts = append(parts, p.Namespace)
	}
	return strings.Join(append(parts, p.Name), "/")
}

func validIP(name string, _ bool) []string {
	var msgs []string
	for _, e := range validation.IsValidIP(nil, name) {
		msgs = append(msgs, e.Detail)
	}
	return msgs
}

func validateAddress(a *networkingv1.IPAddress) field.ErrorList {
	p, path := a.Spec.ParentRef, field.NewPath("spec", "parentRef")
	if p == nil {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if p.Group != "" {
		errs = append(errs, check.Subdomain(p.Group, path.Child("group"))...)
	}
	for _, f := range []struct {
		value, name string
		required    bool
	}{{p.Resource, "resource", true}, {p.Name, "name", true}, {p.Namespace, "namespace", false}} {
		if f.value == "" && f.required {
			errs = append(errs, field.Required(path.Child(f.name), ""))
		} else if f.value != "" {
			errs = append(errs, check.PathSegment(f.value, path.Child(f.name))...)
		}
	}
	return check.DeclaredLast(errs)
}
