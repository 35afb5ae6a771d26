package endpoints

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestDeprecation(t *testing.T) {
	for kind, want := range map[string]string{
		"ResourceClaim.v1beta1.resource.k8s.io":          "resource.k8s.io/v1beta1 ResourceClaim is deprecated in v1.35+, unavailable in v1.38+",
		"IPAddress.v1beta1.networking.k8s.io":            "networking.k8s.io/v1beta1 IPAddress is deprecated in v1.34+, unavailable in v1.37+",
		"ClusterTrustBundle.v1beta1.certificates.k8s.io": "certificates.k8s.io/v1beta1 ClusterTrustBundle is deprecated in v1.37+, unavailable in v1.40+; use certificates.k8s.io/v1 ClusterTrustBundle",
		"Workload.v1beta1.scheduling.k8s.io":             "", // in 1.40
		"Deployment.v1.apps":                             "",
		"Workload.v1.nosuch.io":                          "",
	} {
		gvk, _ := schema.ParseKindArg(kind)
		if got := deprecation(scheme.Scheme, *gvk); got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
}
