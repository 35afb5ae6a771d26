package rbac

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

func validateRules(rules []rbacv1.PolicyRule, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i := range rules {
		errs = append(errs, validateRule(&rules[i], namespaced, field.NewPath("rules").Index(i))...)
	}
	for i := range rules {
		if len(rules[i].Verbs) == 0 {
			errs = append(errs, field.Required(field.NewPath("rules").Index(i).Child("verbs"), ""))
		}
	}
	return errs
}

func validateRule(r *rbacv1.PolicyRule, namespaced bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(r.NonResourceURLs) > 0 {
		if namespaced {
			errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), r.NonResourceURLs,
				"namespaced rules cannot apply to non-resource URLs"))
		}
		if len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0 {
			errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), r.NonResourceURLs,
				"rules cannot apply to both regular resources and non-resource URLs"))
		}
		return errs
	}
	if len(r.APIGroups) == 0 {
		errs = append(errs, field.Required(path.Child("apiGroups"), "resource rules must supply at least one api group"))
	}
	if len(r.Resources) == 0 {
		errs = append(errs, field.Required(path.Child("resources"), "resource rules must supply at least one resource"))
	}
	return errs
}

// validateBinding validates a new binding; kinds are those that roleRef may name.
func validateBinding(ref rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool, kinds ...string) field.ErrorList {
	return slices.Concat(validateRoleRef(ref, kinds), validateSubjects(subjects, namespaced), subjectNames(subjects),
		roleName(ref))
}

// bindingUpdate is a change of a binding.
type bindingUpdate struct {
	ref, old rbacv1.RoleRef
	subjects []rbacv1.Subject
}

// validate validates the change, whose errors are in another order than those of a new binding.
func (u bindingUpdate) validate(namespaced bool, kinds ...string) field.ErrorList {
	var changed field.ErrorList
	if u.ref != u.old {
		changed = append(changed, field.Invalid(field.NewPath("roleRef"), u.ref, check.ImmutableMsg))
	}
	return slices.Concat(validateRoleRef(u.ref, kinds), roleName(u.ref), validateSubjects(u.subjects, namespaced), changed,
		subjectNames(u.subjects))
}

func validateRoleRef(ref rbacv1.RoleRef, kinds []string) field.ErrorList {
	path := field.NewPath("roleRef")
	errs := check.OneOf(ref.APIGroup, path.Child("apiGroup"), rbacv1.GroupName)
	errs = append(errs, check.OneOf(ref.Kind, path.Child("kind"), kinds...)...)
	if ref.Name != "" {
		errs = append(errs, check.PathSegment(ref.Name, path.Child("name"))...)
	}
	return errs
}

func roleName(ref rbacv1.RoleRef) field.ErrorList {
	if ref.Name == "" {
		return field.ErrorList{field.Required(field.NewPath("roleRef", "name"), "")}
	}
	return nil
}

func validateSubjects(subjects []rbacv1.Subject, namespaced bool) field.ErrorList {
	var errs field.ErrorList
	for i, s := range subjects {
		errs = append(errs, validateSubject(s, namespaced, field.NewPath("subjects").Index(i))...)
	}
	return errs
}

func subjectNames(subjects []rbacv1.Subject) field.ErrorList {
	var errs field.ErrorList
	for i, s := range subjects {
		if s.Name == "" {
			errs = append(errs, field.Required(field.NewPath("subjects").Index(i).Child("name"), ""))
		}
	}
	return errs
}

func validateSubject(s rbacv1.Subject, namespaced bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, check.Subdomain(s.Name, path.Child("name"))...)
		}
		errs = append(errs, check.OneOf(s.APIGroup, path.Child("apiGroup"), "")...)
		if !namespaced && s.Namespace == "" {
			errs = append(errs, field.Required(path.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, check.OneOf(s.APIGroup, path.Child("apiGroup"), rbacv1.GroupName)...)
	default:
		errs = append(errs, field.NotSupported(path.Child("kind"), s.Kind,
			[]string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	return errs
}

func defaultBinding(ref *rbacv1.RoleRef, subjects []rbacv1.Subject) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
	for i := range subjects {
		s := &subjects[i]
		if s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}
