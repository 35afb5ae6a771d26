package check

import (
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// EndpointIP refuses addresses that would let traffic escape to the node or
// reach nobody.
func EndpointIP(text string, path *field.Path) field.ErrorList {
	ip := net.ParseIP(text)
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
