package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Whoever may write Endpoints decides how many they have: ports of one name may be many.
func TestProxyLooksAtEachAddressOnce(t *testing.T) {
	subset := corev1.EndpointSubset{Ports: make([]corev1.EndpointPort, 30_000), Addresses: make([]corev1.EndpointAddress, 30_000)}
	begun := time.Now()
	if _, _, ok := (Proxy{}).endpoint(t.Context(), &corev1.Endpoints{Subsets: []corev1.EndpointSubset{subset}}, ""); ok {
		t.Error("an address without a pod was found")
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it takes %v", took)
	}
}
