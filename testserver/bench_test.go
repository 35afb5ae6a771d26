package testserver

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stores are the storages of a benchmark's servers.
var stores = map[string][]Option{"memory": nil, "etcd": {WithEtcd()}}

// ending is a test that ends before the test that contains it.
type ending struct {
	testing.TB
	cleanups []func()
}

func (e *ending) Cleanup(f func()) { e.cleanups = append(e.cleanups, f) }

func (e *ending) end() {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
}

// BenchmarkStart measures the time to the first object.
func BenchmarkStart(b *testing.B) {
	for name, opts := range stores {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				part := &ending{TB: b}
				createMap(b, clientOf(b, Start(part, opts...).Config()), "first")
				b.StopTimer()
				part.end()
				b.StartTimer()
			}
		})
	}
}

func BenchmarkStop(b *testing.B) {
	for name, opts := range stores {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				part := &ending{TB: b}
				createMap(b, clientOf(b, Start(part, opts...).Config()), "first")
				b.StartTimer()
				part.end()
			}
		})
	}
}

// BenchmarkReset measures Reset with a number of objects.
func BenchmarkReset(b *testing.B) {
	for name, opts := range stores {
		for _, objects := range []int{10, 1000} {
			b.Run(fmt.Sprintf("%s/%d", name, objects), func(b *testing.B) {
				s := Start(b, opts...)
				client := clientOf(b, s.Config())
				for b.Loop() {
					b.StopTimer()
					for i := range objects {
						createMap(b, client, fmt.Sprintf("made-%d", i))
					}
					b.StartTimer()
					s.Reset()
				}
			})
		}
	}
}

// BenchmarkServers measures 20 servers in the process, each with a client that has listed objects: what one server
// adds to the heap after a collection, and to the memory of the process.
func BenchmarkServers(b *testing.B) {
	const servers = 20
	for b.Loop() {
		part := &ending{TB: b}
		createMap(b, clientOf(b, Start(part).Config()), "first") // what the process needs once
		heap, resident := memory(b)
		for range servers {
			client := clientOf(b, Start(part).Config())
			createMap(b, client, "first")
			if _, err := client.CoreV1().Pods("").List(b.Context(), metav1.ListOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		heapAfter, residentAfter := memory(b)
		b.ReportMetric((heapAfter-heap)/servers/1e6, "MB-heap/server")
		b.ReportMetric((residentAfter-resident)/servers/1e6, "MB-resident/server")
		b.ReportMetric(float64(runtime.NumGoroutine())/(servers+1), "goroutines/server")
		part.end()
	}
}

// memory returns the bytes of the heap after a collection, and of the process in RAM.
func memory(b *testing.B) (heap, resident float64) {
	b.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Fatal(err)
	}
	var size, pages float64
	if _, err := fmt.Sscan(string(statm), &size, &pages); err != nil {
		b.Fatal(err)
	}
	return float64(m.HeapAlloc), pages * float64(os.Getpagesize())
}
