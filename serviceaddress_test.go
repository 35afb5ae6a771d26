package triplane

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A killed server may have allocated the IP and the node port of the Service kubernetes without creating the
// Service. The next server starts nevertheless.
func TestStartsWithTheAddressLeftOfItsService(t *testing.T) {
	const nodePort = 30443
	options := testOptions(t.TempDir())
	options.Kube.ServiceNodePort = nodePort
	first := startServerWith(t, options)
	const key = "/registry/services/specs/default/kubernetes"
	kv, err := first.store.Backend().Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.store.Backend().Delete(t.Context(), key, kv.Revision); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	s, err := client(t, startServerWith(t, options)).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || s.Spec.ClusterIP != "10.0.0.1" || s.Spec.Ports[0].NodePort != nodePort {
		t.Errorf("service %v, %v", s, err)
	}
}
