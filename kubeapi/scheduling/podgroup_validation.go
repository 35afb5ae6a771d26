package scheduling

import (
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/kubeapi/check"
)

// members is what a template and a group have in common.
type members struct {
	constraints *schedulingv1beta1.PodGroupSchedulingConstraints
	claims      []schedulingv1beta1.PodGroupResourceClaim
	mode        *schedulingv1beta1.DisruptionMode
	class       string
	priority    *int32
	preemption  *schedulingv1beta1.PreemptionPolicy
}

func validateMembers(m *members, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c := m.constraints; c != nil {
		errs = validateTopology(c.Topology, path.Child("schedulingConstraints", "topology"))
	}
	errs = append(errs, validateClaims(m.claims, path.Child("resourceClaims"))...)
	if d := m.mode; d != nil {
		errs = append(errs, oneMember(path.Child("disruptionMode"), member{"single", d.Single != nil},
			member{"all", d.All != nil})...)
	}
	return append(errs, validatePriority(m.class, m.priority, m.preemption, path)...)
}

func validatePriority(class string, priority *int32, preemption *schedulingv1beta1.PreemptionPolicy,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if class != "" {
		errs = append(errs, check.Subdomain(class, path.Child("priorityClassName"))...)
	}
	if priority != nil && *priority > maxUserPriority {
		errs = append(errs, field.Invalid(path.Child("priority"), *priority, "must be less than or equal to 1000000000"))
	}
	if preemption != nil {
		errs = append(errs, check.OneOf(*preemption, path.Child("preemptionPolicy"), schedulingv1beta1.PreemptNever,
			schedulingv1beta1.PreemptLowerPriority)...)
	}
	return errs
}

func validateTopology(topology []schedulingv1beta1.TopologyConstraint, path *field.Path) field.ErrorList {
	if n := len(topology); n > maxConstraints {
		return field.ErrorList{field.TooMany(path, n, maxConstraints)}
	}
	var errs field.ErrorList
	for i, t := range topology {
		errs = append(errs, requiredName(check.QualifiedName, t.Key, path.Index(i).Child("key"))...)
	}
	return errs
}

// member is a field of a union.
type member struct {
	name string
	set  bool
}

// oneMember validates a union of two.
func oneMember(path *field.Path, a, b member) field.ErrorList {
	switch names := "`" + a.name + "`, `" + b.name + "`"; {
	case !a.set && !b.set:
		return field.ErrorList{field.Invalid(path, "", "must specify one of: "+names)}
	case a.set && b.set:
		return field.ErrorList{field.Invalid(path, "{"+a.name+", "+b.name+"}", "must specify exactly one of: "+names)}
	}
	return nil
}

func validatePolicy(p *schedulingv1beta1.PodGroupSchedulingPolicy, path *field.Path) field.ErrorList {
	errs := oneMember(path, member{"basic", p.Basic != nil}, member{"gang", p.Gang != nil})
	if p.Gang != nil {
		errs = append(errs, positive(p.Gang.MinCount, path.Child("gang", "minCount"))...)
	}
	return errs
}

// validatePolicyUpdate keeps which policy it is.
func validatePolicyUpdate(p, old *schedulingv1beta1.PodGroupSchedulingPolicy, path *field.Path) field.ErrorList {
	return append(check.Immutable(p.Basic, old.Basic, path.Child("basic")),
		neitherSetNorUnset(p.Gang != nil, old.Gang != nil, path.Child("gang"))...)
}

func neitherSetNorUnset(now, was bool, path *field.Path) field.ErrorList {
	switch {
	case now && !was:
		return field.ErrorList{field.Invalid(path, nil, "field cannot be set once created")}
	case was && !now:
		return field.ErrorList{field.Invalid(path, nil, "field cannot be cleared once set")}
	}
	return nil
}

// positive validates a number that is required.
func positive(n int32, path *field.Path) field.ErrorList {
	switch {
	case n == 0:
		return field.ErrorList{field.Required(path, "")}
	case n < 1:
		return field.ErrorList{field.Invalid(path, n, "must be greater than or equal to 1")}
	}
	return nil
}

// requiredName validates a name that is required.
func requiredName(valid func(string, *field.Path) field.ErrorList, name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return valid(name, path)
}

func validateClaims(claims []schedulingv1beta1.PodGroupResourceClaim, path *field.Path) field.ErrorList {
	if n := len(claims); n > maxGroupClaims {
		return field.ErrorList{field.TooMany(path, n, maxGroupClaims)}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, c := range claims {
		at := path.Index(i)
		if seen[c.Name] {
			errs = append(errs, field.Duplicate(at, c.Name))
		}
		seen[c.Name] = true
		errs = append(errs, requiredName(check.Label, c.Name, at.Child("name"))...)
		errs = append(errs, oneMember(at, member{"resourceClaimName", c.ResourceClaimName != nil},
			member{"resourceClaimTemplateName", c.ResourceClaimTemplateName != nil})...)
		for _, f := range []struct {
			name  string
			value *string
		}{{"resourceClaimName", c.ResourceClaimName}, {"resourceClaimTemplateName", c.ResourceClaimTemplateName}} {
			if f.value != nil {
				errs = append(errs, check.Subdomain(*f.value, at.Child(f.name))...)
			}
		}
	}
	return errs
}
