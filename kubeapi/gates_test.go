package kubeapi_test

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"triplane.dev/generic/run/options"
)

// TestFollowedGates compares the list of feature gates that change something with
// those that the server asks for while it is built.
func TestFollowedGates(t *testing.T) {
	// These are asked for by the options themselves, and by logging.
	asked := map[string]bool{
		"AllAlpha": true, "AllBeta": true, "CBORServingAndStorage": true, "AllowUnsafeMalformedObjectDeletion": true, "WatchList": true, "APIResponseCompression": true,
		"ConstrainedImpersonation": true, "ComponentStatusz": true, "ComponentFlagz": true, "StorageVersionHash": true,
		"OpenAPIEnums": true, "UnauthenticatedHTTP2DOSMitigation": true, "ShardedListAndWatch": true,
		"AllowParsingUserUIDFromCertAuth": true, "RemoteRequestHeaderUID": true,
		// A plugin that is off unless asked for follows these.
		"ServiceAccountNodeAudienceRestriction": true, "AllowInsecureKubeletCertificateSigningRequests": true,
		// The program asks for these before it makes the server.
		"KMSv1": true, "NativeHistograms": true, "StructuredAuthenticationConfigurationEgressSelector": true,
		// A hook that only the whole server has follows this one.
		"StorageVersionAPI": true,
		"ContextualLogging": true, "LoggingAlphaOptions": true, "LoggingBetaOptions": true,
	}
	var mu sync.Mutex
	startServerOver(t, func(gate string) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[gate] = true
		return enabled(gate)
	}, asItIs)
	mu.Lock()
	defer mu.Unlock()
	if got, want := slices.Sorted(maps.Keys(asked)), options.FollowedGates(); !slices.Equal(got, want) {
		t.Errorf("generic/run/options/featuregates.md is to have as followed\n%q, but has\n%q", got, want)
	}
}
