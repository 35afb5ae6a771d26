package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane/e2e/harness"
)

// TestFullStore fills the embedded store. It says so, starts again, is read and emptied, and is
// written again.
func TestFullStore(t *testing.T) {
	s := harness.Start(t, "--embedded-etcd-quota-bytes=16777216", "--embedded-etcd-snapshot-count=200")
	client := kubernetes.NewForConfigOrDie(s.Config)
	maps := client.CoreV1().ConfigMaps("default")
	create := func(name string) error {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": strings.Repeat("x", 900_000)}}
		_, err := maps.Create(t.Context(), c, metav1.CreateOptions{})
		return err
	}
	n := 0
	for ; ; n++ {
		err := create(fmt.Sprintf("c%d", n))
		if err == nil {
			continue
		}
		var status apierrors.APIStatus
		if !errors.As(err, &status) || status.Status().Code != http.StatusInsufficientStorage {
			t.Fatalf("after %d objects: %v", n, err)
		}
		break
	}
	metrics, err := client.RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(metrics), "triplane_embedded_etcd_quota_bytes 1.6777216e+07") || strings.Contains(string(metrics), "refused_writes_total 0") {
		t.Errorf("the metrics do not say that the store is full: %v", err)
	}
	if err := s.Terminate(t); err != nil {
		t.Error(err)
	}
	s.Restart(t)
	list, err := maps.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != n {
		t.Fatalf("%d objects of %d, %v", len(list.Items), n, err)
	}
	for i := range n / 2 {
		if err := maps.Delete(t.Context(), fmt.Sprintf("c%d", i), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, func() error { return create("again") })
}
