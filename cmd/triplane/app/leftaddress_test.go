package app

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server that is killed between the two writes leaves the IP of the Service kubernetes without the
// Service: the next one starts.
func TestStartsWithTheAddressLeftOfItsService(t *testing.T) {
	dir := t.TempDir()
	first := startServer(t, dir)
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
	s, err := client(t, startServer(t, dir)).CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
	if err != nil || s.Spec.ClusterIP != "10.0.0.1" {
		t.Errorf("service %v, %v", s, err)
	}
}
