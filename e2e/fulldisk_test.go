package e2e

import (
	"errors"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane/e2e/harness"
)

// TestFullDisk has the disk be full while the server runs: it refuses writes, goes on with reads and
// deletions, and takes writes again when there is room.
func TestFullDisk(t *testing.T) {
	disk := harness.NewDisk(t)
	s := harness.StartOn(t, disk)
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
	create := func(name string) error {
		_, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	if err := create("before"); err != nil {
		t.Fatal(err)
	}
	disk.SeemFull(true)
	var status apierrors.APIStatus
	if err := create("full"); !errors.As(err, &status) || status.Status().Code != http.StatusInsufficientStorage {
		t.Errorf("a write to a full disk: %v", err)
	}
	if _, err := maps.Get(t.Context(), "before", metav1.GetOptions{}); err != nil {
		t.Errorf("a read: %v", err)
	}
	if err := maps.Delete(t.Context(), "before", metav1.DeleteOptions{}); err != nil {
		t.Errorf("a deletion: %v", err)
	}
	disk.SeemFull(false)
	if err := create("after"); err != nil {
		t.Errorf("a write when there is room again: %v", err)
	}
}
