package discovery

import (
	"testing"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/kindtest"
)

func TestAddressTypeIsValidatedLast(t *testing.T) {
	kindtest.Refused(t, endpointSliceKind(check.Addresses{}), "ports: [{protocol: X}]\nendpoints: [{addresses: [10.0.0.1], nodeName: a/b}]",
		`ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
		`endpoints[0].nodeName: Invalid value: "a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		"addressType: Required value")
}
