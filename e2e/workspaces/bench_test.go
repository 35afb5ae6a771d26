// What a workspace costs: the time until its first object is stored, the time of a wake, and memory asleep and awake.
package workspaces

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// never is an idle timeout that no benchmark reaches.
const never = time.Hour

func startFor(b *testing.B, idle time.Duration) (*testserver.Server, storage.Backend) {
	backend := memory.New()
	return testserver.Start(b, testserver.WithWorkspaces(), testserver.WithControllers(),
		testserver.WithOptions(func(o *triplane.Options) {
			o.Workspaces.IdleTimeout, o.Etcd.Backend, o.Etcd.Memory = idle, backend, false
		})), backend
}

// makeWorkspace creates a workspace and returns its configuration.
func makeWorkspace(b *testing.B, s *testserver.Server, name string) *rest.Config {
	b.Helper()
	client, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		b.Fatal(err)
	}
	w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": workspaces.GroupVersion.String(), "kind": "Workspace",
		"metadata": map[string]any{"name": name}}}
	if _, err := client.Resource(workspaces.GroupVersion.WithResource(workspaces.Plural)).Create(b.Context(), w, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	return s.InWorkspace(name)
}

func storeObject(b *testing.B, config *rest.Config, name string) {
	b.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err == nil {
		_, err = client.CoreV1().ConfigMaps("default").Create(b.Context(), settings(name), metav1.CreateOptions{})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCreate measures the time from the creation of a workspace until its first object is stored, and what an awake
// workspace adds to the heap and to the goroutines.
func BenchmarkCreate(b *testing.B) {
	s, backend := startFor(b, never)
	storeObject(b, makeWorkspace(b, s, "first"), "first") // what the process needs once
	heap, goroutines, n := used(), runtime.NumGoroutine(), 0
	for b.Loop() {
		n++
		storeObject(b, makeWorkspace(b, s, fmt.Sprintf("w%d", n)), "first")
	}
	b.ReportMetric(float64(used()-heap)/float64(n)/1024, "KiB-heap/awake")
	b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/float64(n), "goroutines/awake")
	kept, err := backend.Range(b.Context(), storage.RangeOptions{Prefix: "/registry/.workspaces/w1."})
	if err != nil {
		b.Fatal(err)
	}
	bytes := 0
	for _, kv := range kept.Items {
		bytes += len(kv.Key) + len(kv.Value)
	}
	b.ReportMetric(float64(len(kept.Items)), "keys")
	b.ReportMetric(float64(bytes)/1024, "KiB-stored")
}

// BenchmarkAsleep measures what a workspace that was never used adds to the heap.
func BenchmarkAsleep(b *testing.B) {
	s, _ := startFor(b, never)
	heap, n := used(), 0
	for b.Loop() {
		n++
		makeWorkspace(b, s, fmt.Sprintf("w%d", n))
	}
	b.ReportMetric(float64(used()-heap)/float64(n)/1024, "KiB-heap/asleep")
}

// used returns the bytes of the heap after a collection.
func used() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
