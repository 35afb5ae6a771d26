// What awake workspaces add to the heap, and that they have hardly any goroutines.
package workspaces

import (
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/testserver"
)

const (
	// maxAwakeBytes is more than the heap of an idle workspace with RBAC in use: about 0.55 MB.
	maxAwakeBytes      = 650 << 10
	maxAwakeGoroutines = 10
)

// An awake workspace that was written to, and whose controllers have done their work, stays within its limits.
func TestAwakeMemory(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers())
	wake := func() {
		client, err := corev1client.NewForConfig(s.Workspace(t))
		if err != nil {
			t.Fatal(err)
		}
		shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		if _, err := client.Namespaces().Create(t.Context(), shop, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, "a default service account", func() (bool, error) {
			_, err := client.ServiceAccounts(shop.Name).Get(t.Context(), "default", metav1.GetOptions{})
			return err == nil, nil
		})
	}
	wake() // what the process needs once
	const n = 20
	heap, goroutines := used(), runtime.NumGoroutine()
	for range n {
		wake()
	}
	var bytes, more int64
	for range 50 { // idle connections and timers end
		bytes, more = (used()-heap)/n, int64(runtime.NumGoroutine()-goroutines)/n
		if bytes <= maxAwakeBytes && more <= maxAwakeGoroutines {
			t.Logf("each of %d workspaces has %d KiB and %d goroutines", n, bytes>>10, more)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("each of %d workspaces has %d KiB and %d goroutines, more than %d and %d", n, bytes>>10, more,
		maxAwakeBytes>>10, maxAwakeGoroutines)
}
