// A server whose advertised address changes from IPv4 to IPv6.

package serving

import (
	"testing"

	"triplane.dev/e2e/harness"
)

// TestAddressOfAnotherFamily replaces a server with an IPv4 address by one with an IPv6 address:
// the type of the addresses of an EndpointSlice is immutable, so that kubernetes' slice is made
// anew.
func TestAddressOfAnotherFamily(t *testing.T) {
	etcd := harness.StartEtcd(t)
	for _, c := range []struct{ address, services, want string }{
		{"192.0.2.1", "10.0.0.0/16", `IPv4 ["192.0.2.1"]`},
		{"2001:db8::1", "2001:db8:1::/112", `IPv6 ["2001:db8::1"]`},
	} {
		s := harness.Start(t, "--etcd-servers", etcd, "--advertise-address="+c.address,
			"--service-cluster-ip-range="+c.services)
		if got := s.Kubectl(t, "get", "endpointslice", "kubernetes", "-o",
			"jsonpath={.addressType} {.endpoints[*].addresses}"); got != c.want {
			t.Errorf("%s: %s, want %s", c.address, got, c.want)
		}
		s.Kill()
	}
}
