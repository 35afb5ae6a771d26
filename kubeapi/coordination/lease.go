package coordination

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func leaseKind() kind.Kind[*coordinationv1.Lease] {
	type lease = *coordinationv1.Lease
	return kind.Kind[lease]{
		Namespaced: true,
		Representation: kind.Typed[lease]{Former: kind.SameFields[lease]("v1beta1"),
			MetadataOnUpdate: kind.MetadataChange, AnyFinalizer: true},
		Write: kind.Write[lease]{
			AllowCreateOnUpdate: true,
			Validate:            kind.Whole(validateLease),
		},
		Columns: show.Columns(show.Field("Holder", "spec.holderIdentity")),
	}
}

func validateLease(l *coordinationv1.Lease) field.ErrorList {
	s := &l.Spec
	var errs field.ErrorList
	path := field.NewPath("spec")
	if d := s.LeaseDurationSeconds; d != nil && *d <= 0 {
		errs = append(errs, field.Invalid(path.Child("leaseDurationSeconds"), *d, "must be greater than 0"))
	}
	if n := s.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(path.Child("leaseTransitions"), *n, "must be greater than or equal to 0"))
	}
	if s.Strategy != nil {
		errs = append(errs, validateStrategy(*s.Strategy, path.Child("strategy"))...)
	}
	if h := s.PreferredHolder; h != nil && *h != "" && (s.Strategy == nil || *s.Strategy == "") {
		errs = append(errs, field.Forbidden(path.Child("preferredHolder"),
			"may only be specified if `strategy` is defined"))
	}
	return errs
}

// validateStrategy validates who chooses a holder: the server by a strategy that it knows, or
// another component by one with the prefix of a domain. kube-apiserver names the field twice in the path.
func validateStrategy(s coordinationv1.CoordinatedLeaseStrategy, path *field.Path) field.ErrorList {
	path = path.Child("strategy")
	if strings.Contains(string(s), "/") {
		return check.QualifiedName(string(s), path)
	}
	return check.OneOf(s, path, coordinationv1.OldestEmulationVersion)
}
