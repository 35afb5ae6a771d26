package resource

import (
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxValidValues bounds the amounts that a policy lists.
const maxValidValues = 10

func validateCapacities(capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity, shared bool,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		c := capacity[name]
		errs = append(errs, validateQualified(string(name), path)...)
		if c.RequestPolicy == nil {
			continue
		}
		policy := path.Key(string(name)).Child("requestPolicy")
		if !shared {
			errs = append(errs, field.Forbidden(policy, "allowMultipleAllocations must be true"))
			continue
		}
		errs = append(errs, validateRequestPolicy(c.RequestPolicy, c.Value, policy)...)
	}
	return errs
}

// validateRequestPolicy validates how requests may consume a capacity of total:
// in listed amounts or in those of a range, with a default among them.
func validateRequestPolicy(p *resourcev1.CapacityRequestPolicy, total resource.Quantity,
	path *field.Path) field.ErrorList {
	listed, ranged := len(p.ValidValues) > 0, p.ValidRange != nil
	switch {
	case listed && ranged:
		return field.ErrorList{field.Forbidden(path,
			"exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time")}
	case listed && p.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validValues is defined")}
	case ranged && p.Default == nil:
		return field.ErrorList{field.Required(path.Child("default"), "required when validRange is defined")}
	case listed:
		return validateValidValues(p.ValidValues, p.Default, &total, path.Child("validValues"))
	case ranged:
		return validateValidRange(p.ValidRange, p.Default, &total, path.Child("validRange"))
	}
	return nil
}

func validateValidValues(values []resource.Quantity, standard, total *resource.Quantity,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	listed := false
	if len(values) > maxValidValues {
		errs = append(errs, field.TooMany(path, len(values), maxValidValues))
	} else {
		for i := 1; i < len(values); i++ {
			if values[i].Cmp(values[i-1]) < 0 {
				errs = append(errs, field.Invalid(path.Index(i), values[i].String(), "values must be sorted in ascending order"))
			}
		}
		for i := range values {
			errs = append(errs, notAbove(&values[i], total, "option is larger than capacity value", path.Index(i))...)
			listed = listed || values[i].Cmp(*standard) == 0
		}
		errs = append(errs, duplicates(values, (*resource.Quantity).String, path)...)
	}
	if !listed {
		errs = append(errs, field.Invalid(path, standard.String(),
			"default value is not valid according to the requestPolicy"))
	}
	return errs
}

// validateValidRange validates the limits of a range, and that the default is in it.
func validateValidRange(r *resourcev1.CapacityRequestPolicyRange, standard, total *resource.Quantity,
	path *field.Path) field.ErrorList {
	lowest := path.Child("min")
	if r.Min == nil {
		return field.ErrorList{field.Required(lowest, "required when validRange is defined")}
	}
	errs := notAbove(r.Min, total, "min is larger than capacity value", lowest)
	if standard.Cmp(*r.Min) < 0 {
		errs = append(errs, field.Invalid(path.Child("default"), standard.String(),
			"default is less than min: "+r.Min.String()))
	}
	if r.Max != nil {
		largest := path.Child("max")
		errs = append(errs, notAbove(r.Max, total, "max is larger than capacity value", largest)...)
		errs = append(errs, notAbove(r.Min, r.Max, "min is larger than max", largest)...)
		errs = append(errs, notAbove(standard, r.Max, "default is more than max", path.Child("default"))...)
	}
	if r.Step == nil {
		return errs
	}
	if r.Step.Sign() <= 0 {
		return append(errs, field.Invalid(path.Child("step"), r.Step.String(), "must be greater than zero"))
	}
	errs = append(errs, notNegative(standard, path.Child("default"))...)
	errs = append(errs, notNegative(r.Min, lowest)...)
	errs = append(errs, notNegative(r.Max, path.Child("max"))...)
	if len(errs) == 0 {
		errs = append(errs, validateStep(r, standard, total, path.Child("step"))...)
	}
	return errs
}

func notNegative(value *resource.Quantity, path *field.Path) field.ErrorList {
	if value == nil || value.Sign() >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), "must be greater than or equal to 0")}
}

func notAbove(value, limit *resource.Quantity, what string, path *field.Path) field.ErrorList {
	if value.Cmp(*limit) <= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value.String(), what+": "+limit.String())}
}

// validateStep validates that the default and the largest amount can be reached
// from the smallest in whole steps.
func validateStep(r *resourcev1.CapacityRequestPolicyRange, standard, total *resource.Quantity,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	next := r.Min.DeepCopy()
	next.Add(*r.Step)
	if next.Cmp(*total) > 0 {
		errs = append(errs, field.Invalid(path, r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s",
			next.String(), total.String())))
	}
	for _, v := range []*resource.Quantity{standard, r.Max} {
		if v != nil && (v.Value()-r.Min.Value())%r.Step.Value() != 0 {
			errs = append(errs, field.Invalid(path, v.String(),
				fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String())))
		}
	}
	return errs
}
