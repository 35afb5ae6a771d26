package networking

import (
	"net"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func parseCIDR(s string) (*net.IPNet, error) {
	_, n, err := netutils.ParseCIDRSloppy(s)
	return n, err
}

// serviceCIDRKind declares ServiceCIDRs. keepsStatus lets their status be written with the
// rest, as before 1.36 (ServiceCIDRStatusFieldWiping is off).
func serviceCIDRKind(keepsStatus bool) kind.Kind[*networkingv1.ServiceCIDR] {
	type cidr = *networkingv1.ServiceCIDR
	status := kind.StatusBySubresource
	if keepsStatus {
		status = kind.StatusAlways
	}
	return kind.Kind[cidr]{
		Representation: kind.Typed[cidr]{Versions: kind.SameFields[cidr]("v1beta1"), MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[cidr]{
			Status:                   status,
			Validate:                 kind.OnCreate(validateServiceCIDR, validateServiceCIDRUpdate),
			AllowUnconditionalUpdate: kind.Always,
		},
		Columns: show.Columns(show.Field("CIDRs", "spec.cidrs")),
		Status:  &kind.Subresource[cidr]{Metadata: kind.ClientMetadata},
	}
}

func validateServiceCIDR(c *networkingv1.ServiceCIDR) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	cidrs := c.Spec.CIDRs
	if len(cidrs) == 0 {
		return field.ErrorList{field.Required(path, "at least one CIDR required")}
	}
	var errs field.ErrorList
	if len(cidrs) > 2 {
		return field.ErrorList{field.Invalid(path, c.Spec, "may only hold up to 2 values")}
	}
	for i, s := range cidrs {
		errs = append(errs, validation.IsValidCIDR(path.Index(i), s)...)
	}
	if len(errs) == 0 && len(cidrs) == 2 && netutils.IsIPv6CIDRString(cidrs[0]) == netutils.IsIPv6CIDRString(cidrs[1]) {
		errs = append(errs, field.Invalid(path, cidrs,
			"may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
	}
	return errs
}

// validateServiceCIDRUpdate allows one change: a second family is added.
func validateServiceCIDRUpdate(c, old *networkingv1.ServiceCIDR) field.ErrorList {
	path := field.NewPath("spec", "cidrs")
	now, before := c.Spec.CIDRs, old.Spec.CIDRs
	second := len(before) == 1 && len(now) == 2
	if len(now) != len(before) && !second {
		return check.Immutable(now, before, path)
	}
	var errs field.ErrorList
	for i := range before {
		errs = append(errs, check.Immutable(now[i], before[i], path.Index(i))...)
	}
	if second {
		errs = append(errs, validateServiceCIDR(c)...)
	}
	return errs
}
