package check

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"
)

// Addresses validates addresses in fields that are older than the rule that addresses are in canonical form: IPv6
// addresses may be in another one, with a warning (KEP-4858). The zero value is strict.
type Addresses struct {
	// Loose allows leading zeros, IPv4 within IPv6, and bits behind the prefix of a range (StrictIPCIDRValidation
	// is off).
	Loose bool
	// Known are accepted as they are: those that the object had before.
	Known sets.Set[string]
}

// IP validates an address.
func (a Addresses) IP(text string, path *field.Path) field.ErrorList {
	if a.Known.Has(text) {
		return nil
	}
	return utilvalidation.IsValidIPForLegacyField(path, text, !a.Loose, nil)
}

// CIDR validates a range of addresses.
func (a Addresses) CIDR(text string, path *field.Path) field.ErrorList {
	if a.Known.Has(text) {
		return nil
	}
	return utilvalidation.IsValidCIDRForLegacyField(path, text, !a.Loose, nil)
}

// ParseIP reads an address in any form that Addresses allow.
func ParseIP(text string) (ip netip.Addr, ok bool) {
	ip, ok = netip.AddrFromSlice(netutils.ParseIPSloppy(text))
	return ip.Unmap(), ok
}

// EndpointIP refuses addresses that would let traffic escape to the node or
// reach no host.
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
