package harness

import (
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
)

// Widgets is the resource that ServeWidgets defines.
var Widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// ServeWidgets defines the custom resource of the README's walk, and waits until it is served.
func ServeWidgets(t testing.TB, s *Server) {
	t.Helper()
	s.Kubectl(t, "apply", "-f", "../testdata/widgets-crd.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=30s")
}

// CreateConfigMaps creates n config maps in the namespace default, with names from c<from> on.
func CreateConfigMaps(t testing.TB, client kubernetes.Interface, from, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range 16 {
		wg.Go(func() {
			for i := from + w; i < from+n; i += 16 {
				c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("c%d", i)}}
				if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), c,
					metav1.CreateOptions{}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}
