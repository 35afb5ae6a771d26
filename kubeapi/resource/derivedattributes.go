package resource

import (
	"slices"

	"github.com/google/cel-go/common/types"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// derivedAttributes validates the derived attributes of a claim: each is used by a constraint, and their expressions
// together have a limited cost.
type derivedAttributes struct {
	constraints []resourcev1.DeviceConstraint
	cost        uint64
}

// validate validates those of a request. names are how constraints refer to it: its name, and for a subrequest the
// name with that of the request before.
func (d *derivedAttributes) validate(list []resourcev1.DeviceDerivedAttribute, path *field.Path,
	names ...string) field.ErrorList {
	var errs field.ErrorList
	for i, a := range list {
		at := path.Index(i)
		if a.Name != "" && !d.used(string(a.Name), names) {
			errs = append(errs, field.Invalid(at.Child("name"), a.Name,
				"must be referenced by at least one matchAttribute or distinctAttribute constraint targeting this request"))
		}
		if err := d.validateExpression(a.Expression, at.Child("expression")); err != nil {
			errs = append(errs, err)
		}
	}
	return append(errs, duplicates(list,
		func(a *resourcev1.DeviceDerivedAttribute) resourcev1.FullyQualifiedName { return a.Name }, path)...)
}

// used reports whether a constraint of the request names the attribute.
func (d *derivedAttributes) used(name string, request []string) bool {
	for i := range d.constraints {
		c := &d.constraints[i]
		names := func(attribute *resourcev1.FullyQualifiedName) bool {
			return attribute != nil && string(*attribute) == name
		}
		if (names(c.MatchAttribute) || names(c.DistinctAttribute)) && targets(c.Requests, request) {
			return true
		}
	}
	return false
}

// targets reports whether a constraint with these requests, all if there are none, is about one.
func targets(requests, one []string) bool {
	if len(requests) == 0 {
		return true
	}
	return slices.ContainsFunc(requests, func(r string) bool { return slices.Contains(one, r) })
}

func (d *derivedAttributes) validateExpression(source string, path *field.Path) *field.Error {
	switch {
	case source == "":
		return nil // the declared rules require it
	case len(source) > maxExpression:
		return field.TooLong(path, "", maxExpression)
	}
	cost, err := estimateExpression(source, path,
		"a primitive scalar (string, integer, boolean, semver) or a list of these scalars", derivable)
	if err != nil {
		return err
	}
	if d.cost += cost; d.cost < cost {
		d.cost = ^uint64(0)
	}
	if cost > resourcev1.DeviceClaimDerivedAttributeCELMaxCost {
		return tooComplex(path)
	}
	return nil
}

// total validates the cost of all expressions of the claim.
func (d *derivedAttributes) total(path *field.Path) field.ErrorList {
	if d.cost <= resourcev1.DeviceClaimDerivedAttributeCELMaxCost {
		return nil
	}
	return field.ErrorList{field.Forbidden(path,
		"too complex, total cost of derived attribute CEL expressions in the claim exceeds cost limit")}
}

// derivable reports whether an attribute can have values of the type.
func derivable(t *types.Type) bool {
	if t.Kind() == types.ListKind && len(t.Parameters()) == 1 {
		t = t.Parameters()[0]
		if t.Kind() == types.TypeParamKind {
			return true // an empty list
		}
	}
	for _, scalar := range []*types.Type{types.StringType, types.IntType, types.BoolType,
		types.NewOpaqueType("kubernetes.Semver"), types.AnyType, types.DynType} {
		if t.IsExactType(scalar) {
			return true
		}
	}
	return false
}
