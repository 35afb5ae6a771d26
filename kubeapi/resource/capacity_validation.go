package resource

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxValidValues bounds the amounts that a policy lists.
const maxValidValues = 10

func validateCapacities(capacity map[resourcev1.QualifiedName]resourcev1.DeviceCapacity, shared bool, path *field.Path) field.ErrorList {
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
func validateRequestPolicy(p *resourcev1.CapacityRequestPolicy, total resource.Quantity, path *field.Path) field.ErrorList {
	switch {
	case len(p.ValidValues) > 0 && p.ValidRange != nil:
		return field.ErrorList{field.Forbidden(path, "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time")}
	case len(p.ValidValues) > 0:
		if p.Default == nil {
			return field.ErrorList{field.Required(path.Child("default"), "required when validValues is defined")}
		}
		return validateValidValues(p.ValidValues, *p.Default, total, path.Child("validValues"))
	case p.ValidRange != nil:
		if p.Default == nil {
			return field.ErrorList{field.Required(path.Child("default"), "required when validRange is defined")}
		}
		return validateValidRange(p.ValidRange, *p.Default, total, path.Child("validRange"))
	}
	return nil
}

// validateValidValues validates amounts in ascending order, one of which is the standard.
func validateValidValues(values []resource.Quantity, standard, total resource.Quantity, path *field.Path) field.ErrorList {
	if len(values) > maxValidValues {
		return field.ErrorList{field.TooMany(path, len(values), maxValidValues)}
	}
	var errs field.ErrorList
	listed := false
	for i, v := range values {
		if v.Cmp(total) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), v.String(), fmt.Sprintf("option is larger than capacity value: %s", total.String())))
		}
		if i > 0 && v.Cmp(values[i-1]) < 0 {
			errs = append(errs, field.Invalid(path.Index(i), v.String(), "values must be sorted in ascending order"))
		}
		if slices.ContainsFunc(values[:i], func(other resource.Quantity) bool { return v.Cmp(other) == 0 }) {
			errs = append(errs, field.Duplicate(path.Index(i), v.String()))
		}
		listed = listed || v.Cmp(standard) == 0
	}
	if !listed {
		errs = append(errs, field.Invalid(path, standard.String(), "default value is not valid according to the requestPolicy"))
	}
	return errs
}

// validateValidRange validates a range within the capacity, and the standard within the range.
func validateValidRange(r *resourcev1.CapacityRequestPolicyRange, standard, total resource.Quantity, path *field.Path) field.ErrorList {
	if r.Min == nil {
		return field.ErrorList{field.Required(path.Child("min"), "required when validRange is defined")}
	}
	var errs field.ErrorList
	lowest, highest := path.Child("min"), path.Child("max")
	const less, more = -1, 1
	bounds := []struct {
		value   *resource.Quantity
		refused int
		limit   *resource.Quantity
		path    *field.Path
		what    string
	}{
		{r.Min, more, &total, lowest, "min is larger than capacity value"},
		{r.Max, more, &total, highest, "max is larger than capacity value"},
		{r.Min, more, r.Max, highest, "min is larger than max"},
		{&standard, less, r.Min, lowest, "default is less than min"},
		{&standard, more, r.Max, highest, "default is more than max"},
	}
	for _, b := range bounds {
		if b.value != nil && b.limit != nil && b.value.Cmp(*b.limit) == b.refused {
			errs = append(errs, field.Invalid(b.path, b.value.String(), fmt.Sprintf("%s: %s", b.what, b.limit.String())))
		}
	}
	if r.Step != nil {
		errs = append(errs, validateStep(r, standard, total, path.Child("step"))...)
	}
	return errs
}

// validateStep validates that the default and the largest amount can be reached
// from the smallest in whole steps.
func validateStep(r *resourcev1.CapacityRequestPolicyRange, standard, total resource.Quantity, path *field.Path) field.ErrorList {
	if r.Step.Sign() <= 0 {
		return field.ErrorList{field.Invalid(path, r.Step.String(), "must be greater than zero")}
	}
	var errs field.ErrorList
	next := r.Min.DeepCopy()
	next.Add(*r.Step)
	if next.Cmp(total) > 0 {
		errs = append(errs, field.Invalid(path, r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", next.String(), total.String())))
	}
	for _, v := range []*resource.Quantity{&standard, r.Max} {
		if v != nil && !inSteps(*v, *r.Min, *r.Step) {
			errs = append(errs, field.Invalid(path, v.String(),
				fmt.Sprintf("value is not a multiple of a given step (%s) from (%s)", r.Step.String(), r.Min.String())))
		}
	}
	return errs
}

// inSteps reports whether value is lowest plus a whole number of steps. Amounts
// are compared as they are written, without the limits of 64 bits.
func inSteps(value, lowest, step resource.Quantity) bool {
	v, l, s := rational(value), rational(lowest), rational(step)
	return v.Sub(v, l).Quo(v, s).IsInt()
}

func rational(q resource.Quantity) *big.Rat {
	r, _ := new(big.Rat).SetString(q.AsDec().String())
	return r
}
