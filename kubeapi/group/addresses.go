package group

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/api/registry"
)

// GateStrictAddresses is the gate of KEP-4858.
const GateStrictAddresses = "StrictIPCIDRValidation"

// strictSince are the kinds whose addresses, or those of IPv6 at least, were never written in other ways.
var strictSince = []string{"ipaddresses", "servicecidrs", "endpointslices"}

// allowFor has addresses and ranges of addresses accepted as former releases took them: with
// leading zeros, IPv4 within IPv6, and bits behind the prefix. Kinds whose validation goes on
// with such an address follow the gate themselves.
func allowFor[T registry.Object](b *Builder, kind *registry.Kind[T]) {
	if b.deps.Gate(GateStrictAddresses) || slices.Contains(strictSince, kind.Names.Plural) {
		return
	}
	if validate := kind.Write.Validate; validate != nil {
		kind.Write.Validate = func(ctx context.Context, obj T) field.ErrorList { return sloppy(validate(ctx, obj)) }
	}
	kind.Write.ValidateUpdate = allowing(kind.Write.ValidateUpdate)
	if kind.Status != nil {
		status := *kind.Status
		status.ValidateUpdate = allowing(status.ValidateUpdate)
		kind.Status = &status
	}
}

func allowing[T any](validate func(ctx context.Context, obj, old T) field.ErrorList) func(ctx context.Context, obj, old T) field.ErrorList {
	if validate == nil {
		return nil
	}
	return func(ctx context.Context, obj, old T) field.ErrorList { return sloppy(validate(ctx, obj, old)) }
}

// sloppy drops the errors of addresses that would be fine if validation were not strict.
func sloppy(errs field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(errs, func(e *field.Error) bool {
		text, ok := e.BadValue.(string)
		if !ok || e.Type != field.ErrorTypeInvalid {
			return false
		}
		return onlyStrict(validation.IsValidIPForLegacyField, text, e.Detail) || onlyStrict(validation.IsValidCIDRForLegacyField, text, e.Detail)
	})
}

// onlyStrict reports whether a text is valid unless validation is strict, which has the
// detail to say.
func onlyStrict(valid func(path *field.Path, text string, strict bool, old []string) field.ErrorList, text, detail string) bool {
	strict := valid(nil, text, true, nil)
	return len(valid(nil, text, false, nil)) == 0 &&
		slices.ContainsFunc(strict, func(e *field.Error) bool { return e.Detail == detail })
}
