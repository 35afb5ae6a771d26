package check

import (
	"fmt"
	"net/netip"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// IP validates an address of a field that is older than the rule that addresses are in canonical
// form: IPv6 addresses may be in another one, with a warning (KEP-4858).
func IP(text string, path *field.Path) field.ErrorList {
	return LegacyIP(text, path, true)
}

// LegacyIP is IP for validation that goes on with an address that is fine: not strict, one may have
// leading zeros or be IPv4 within IPv6.
func LegacyIP(text string, path *field.Path, strict bool) field.ErrorList {
	return utilvalidation.IsValidIPForLegacyField(path, text, strict, nil)
}

// ParseIP reads an address in any form that LegacyIP allows.
func ParseIP(text string) (ip netip.Addr, ok bool) {
	ip, ok = netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return ip.Unmap(), ok
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
