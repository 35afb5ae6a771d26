package check

import (
	"fmt"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// IP validates an address of a field that is older than the rule that addresses are in canonical
// form: IPv6 addresses may be in another one, with a warning (KEP-4858).
func IP(text string, path *field.Path) field.ErrorList {
	return utilvalidation.IsValidIPForLegacyField(path, text, true, nil)
}

// CIDR is IP for ranges of addresses.
func CIDR(text string, path *field.Path) field.ErrorList {
	return utilvalidation.IsValidCIDRForLegacyField(path, text, true, nil)
}

// EndpointIP refuses addresses that would let traffic escape to the node or
// reach nobody.
func EndpointIP(text string, path *field.Path) field.ErrorList {
	ip := netutils.ParseIPSloppy(text) // leading zeros are refused elsewhere
	var msg string
	switch {
	case ip == nil:
		msg = "must be a valid IP address"
	case ip.IsUnspecified():
		msg = fmt.Sprintf("may not be unspecified (%v)", text)
	case ip.IsLoopback():
		msg = "may not be in the loopback range (127.0.0.0/8, ::1/128)"
	case ip.IsLinkLocalUnicast():
		msg = "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
	case ip.IsLinkLocalMulticast():
		msg = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
	default:
		return nil
	}
	return field.ErrorList{field.Invalid(path, text, msg)}
}
