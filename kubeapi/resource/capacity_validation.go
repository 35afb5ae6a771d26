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
	var errs field.ErrorList
	if p.Default != nil && p.Default.Cmp(total) > 0 {
		errs = append(errs, field.Invalid(path.Child("default"), p.Default.String(),
			fmt.Sprintf("default is larger than capacity value: %s", total.String())))
	}
	switch {
	case len(p.ValidValues) > 0 && p.ValidRange != nil:
		return append(errs, field.Forbidden(path, "exactly one policy can be specified, cannot specify \"validValues\" and \"validRange\" at the same time"))
	case len(p.ValidValues) > 0:
		if p.Default == nil {
			return append(errs, field.Required(path.Child("default"), "required when validValues is defined"))
		}
		return append(errs, validateValidValues(p.ValidValues, *p.Default, total, path)...)
	case p.ValidRange != nil:
		if p.Default == nil {
			return append(errs, field.Required(path.Child("default"), "required when validRange is defined"))
		}
		return append(errs, validateValidRange(p.ValidRange, *p.Default, total, path)...)
	}
	return errs
}

func validateValidValues(values []resource.Quantity, standard, total resource.Quantity, policy *field.Path) field.ErrorList {
	path := policy.Child("validValues")
	var errs field.ErrorList
	if len(values) > maxValidValues {
		return append(errs, field.TooMany(path, len(values), maxValidValues))
	}
	listed := false
	for i, v := range values {
		if v.Cmp(total) > 0 {
			errs = append(errs, field.Invalid(path.Index(i), v.String(), fmt.Sprintf("option is larger than capacity value: %s", total.String())))
		}
		if i > 0 && v.Cmp(values[i-1]) == 0 {
			errs = append(errs, field.Duplicate(path.Index(i), v.String()))
		} else if i > 0 && v.Cmp(values[i-1]) < 0 {
			errs = append(errs, field.Invalid(path.Index(i), v.String(), "values must be sorted in ascending order"))
		}
		listed = listed || v.Cmp(standard) == 0
	}
	if !listed {
		errs = append(errs, field.Invalid(policy.Child("default"), standard.String(), "default value is not valid according to the requestPolicy"))
	}
	return errs
}

func validateValidRange(r *resourcev1.CapacityRequestPolicyRange, standard, total resource.Quantity, policy *field.Path) field.ErrorList {
	path := policy.Child("validRange")
	if r.Min == nil {
		return field.ErrorList{field.Required(path.Child("min"), "required when validRange is defined")}
	}
	var errs field.ErrorList
	bounds := []struct {
		value, limit *resource.Quantity
		path         *field.Path
		what         string
	}{
		{r.Min, &total, path.Child("min"), "min is larger than capacity value"},
		{r.Max, &total, path.Child("max"), "max is larger than capacity value"},
		{r.Min, r.Max, path.Child("min"), "min is larger than max"},
		{r.Min, &standard, policy.Child("default"), "default is less than min"},
		{&standard, r.Max, policy.Child("default"), "default is more than max"},
	}
	if r.Min.Sign() < 0 {
		errs = append(errs, field.Invalid(path.Child("min"), r.Min.String(), "must be greater than or equal to zero"))
	}
	for _, b := range bounds {
		if b.value != nil && b.limit != nil && b.value.Cmp(*b.limit) > 0 {
			errs = append(errs, field.Invalid(b.path, b.value.String(), fmt.Sprintf("%s: %s", b.what, b.limit.String())))
		}
	}
	if r.Step != nil {
		errs = append(errs, validateStep(r, standard, total, policy)...)
	}
	return errs
}

// validateStep validates that the default and the largest amount can be reached
// from the smallest in whole steps.
func validateStep(r *resourcev1.CapacityRequestPolicyRange, standard, total resource.Quantity, policy *field.Path) field.ErrorList {
	path := policy.Child("validRange")
	if r.Step.Sign() <= 0 {
		return field.ErrorList{field.Invalid(path.Child("step"), r.Step.String(), "must be greater than zero")}
	}
	var errs field.ErrorList
	next := r.Min.DeepCopy()
	next.Add(*r.Step)
	if next.Cmp(total) > 0 {
		errs = append(errs, field.Invalid(path.Child("step"), r.Step.String(), fmt.Sprintf("one step %s is larger than capacity value: %s", next.String(), total.String())))
	}
	for _, v := range []struct {
		value *resource.Quantity
		path  *field.Path
	}{{&standard, policy.Child("default")}, {r.Max, path.Child("max")}} {
		if v.value != nil && !inSteps(*v.value, *r.Min, *r.Step) {
			errs = append(errs, field.Invalid(v.path, v.value.String(),
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
