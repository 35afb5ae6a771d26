package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Following is a reflector of config maps, as informers have it, and clients that change some of them all the time.
type Following struct {
	*History
	reading kubernetes.Interface
	writes  atomic.Int64
	writers sync.WaitGroup
	also    func(Writer)
	stop    []func() // writing, then following
}

// backoff is how long the reflector waits after a failure. That of informers grows to a minute: most interruptions of a
// test would pass unnoticed.
var backoff = wait.Backoff{Duration: 10 * time.Millisecond, Cap: 200 * time.Millisecond, Factor: 2, Steps: 10, Jitter: 1}

// Follow begins, on the namespace default.
func Follow(t testing.TB, writing, reading kubernetes.Interface) *Following {
	t.Helper()
	f := &Following{History: newHistory(), reading: reading}
	all := cache.NewListWatchFromClient(reading.CoreV1().RESTClient(), "configmaps", "default", fields.Everything())
	pause := backoff
	reflector := cache.NewReflectorWithOptions(all, &corev1.ConfigMap{}, f.History, cache.ReflectorOptions{Backoff: &pause})
	following, unfollow := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { reflector.RunWithContext(following) })
	for late := time.Now().Add(until); !f.begun(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("the reflector does not begin")
		}
	}
	changing, stopChanging := context.WithCancel(t.Context())
	f.stop = []func(){stopChanging, func() { unfollow(); running.Wait() }}
	for w := range 4 {
		f.writers.Go(func() { f.change(changing, writing.CoreV1().ConfigMaps("default"), fmt.Sprintf("w%d", w)) })
	}
	f.also = func(w Writer) {
		f.writers.Go(func() { f.change(changing, w, "other") })
	}
	return f
}

// Also has another writer change objects of its own in the namespace default.
func (f *Following) Also(w Writer) { f.also(w) }

// More returns when n more changes were acknowledged.
func (f *Following) More(t testing.TB, n int) {
	t.Helper()
	late := time.Now().Add(until)
	for before := f.writes.Load(); f.writes.Load() < before+int64(n); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("%d changes of %d in %v", f.writes.Load()-before, n, until)
		}
	}
}

// End stops changing, and fails the test where the reflector has not come to what is there, or reported
// what cannot be.
func (f *Following) End(t testing.TB) {
	t.Helper()
	f.stop[0]()
	f.writers.Wait()
	defer f.stop[1]()
	for late := time.Now().Add(until); ; time.Sleep(20 * time.Millisecond) {
		list, err := f.reading.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if err == nil {
			err = f.equals(list.Items)
		}
		if err == nil {
			break
		}
		if time.Now().After(late) {
			t.Fatal(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, wrong := range f.wrong {
		t.Error(wrong)
	}
	const many = 500 // of which some are of each kind, surely
	if f.writes.Load() > many && (f.Deletes == 0 || f.Updates == 0) {
		t.Errorf("%d added, %d updated, %d deleted: too few", f.Adds, f.Updates, f.Deletes)
	}
	t.Logf("%d changes; %d added, %d updated, %d deleted, %d lists", f.writes.Load(), f.Adds, f.Updates, f.Deletes, f.Lists)
}

// change creates, updates and deletes objects of its own until ctx ends.
// What fails because the server is away is tried no more.
func (f *Following) change(ctx context.Context, maps Writer, worker string) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("%s-%d", worker, rand.IntN(20))
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"i": strconv.Itoa(i)}}
		_, err := maps.Create(ctx, c, metav1.CreateOptions{})
		if err != nil && rand.IntN(3) == 0 {
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
		} else if err != nil {
			_, err = maps.Update(ctx, c, metav1.UpdateOptions{})
		}
		if err == nil {
			f.writes.Add(1)
		} else {
			time.Sleep(time.Millisecond) // the server may be away
		}
	}
}

// History is what a reflector reported, and what cannot be true of it. It implements cache.ReflectorStore.
type History struct {
	mu      sync.Mutex
	objects map[string]*corev1.ConfigMap
	// Adds, Updates and Deletes are changes, Lists how often the reflector began with a list.
	Adds, Updates, Deletes, Lists int
	wrong                         []string
}

func newHistory() *History { return &History{objects: map[string]*corev1.ConfigMap{}} }

func (h *History) begun() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Lists > 0
}

// Add implements cache.ReflectorStore.
func (h *History) Add(obj any) error { return h.note("added", obj) }

// Update implements cache.ReflectorStore.
func (h *History) Update(obj any) error { return h.note("updated", obj) }

// Delete implements cache.ReflectorStore.
func (h *History) Delete(obj any) error { return h.note("deleted", obj) }

// Resync implements cache.ReflectorStore.
func (h *History) Resync() error { return nil }

// Replace implements cache.ReflectorStore.
func (h *History) Replace(list []any, _ string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.Lists++
	before := h.objects
	h.objects = make(map[string]*corev1.ConfigMap, len(list))
	for _, obj := range list {
		c := obj.(*corev1.ConfigMap)
		switch had := before[c.Name]; {
		case had == nil:
			h.Adds++
		case had.ResourceVersion != c.ResourceVersion:
			h.older(had, c)
			h.Updates++
		}
		h.objects[c.Name] = c
		delete(before, c.Name)
	}
	h.Deletes += len(before)
	return nil
}

// note records an event of a watch.
func (h *History) note(what string, obj any) error {
	c := obj.(*corev1.ConfigMap)
	h.mu.Lock()
	defer h.mu.Unlock()
	had := h.objects[c.Name]
	if (what == "added") != (had == nil) {
		h.wrong = append(h.wrong, fmt.Sprintf("%s %s, which was there: %v", c.Name, what, had != nil))
	}
	h.older(had, c)
	switch what {
	case "added":
		h.Adds++
		h.objects[c.Name] = c
	case "updated":
		h.Updates++
		h.objects[c.Name] = c
	case "deleted":
		h.Deletes++
		delete(h.objects, c.Name)
	}
	return nil
}

// older records if an object is older than what was reported before.
func (h *History) older(had, c *corev1.ConfigMap) {
	if had != nil && revision(c) < revision(had) {
		h.wrong = append(h.wrong, fmt.Sprintf("%s went back from %s to %s", c.Name, had.ResourceVersion,
			c.ResourceVersion))
	}
}

func revision(c *corev1.ConfigMap) uint64 {
	n, _ := strconv.ParseUint(c.ResourceVersion, 10, 64)
	return n
}

// equals holds what the reflector reported against a list.
func (h *History) equals(list []corev1.ConfigMap) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(list) != len(h.objects) {
		return fmt.Errorf("%d objects, the reflector knows %d", len(list), len(h.objects))
	}
	for i := range list {
		c := h.objects[list[i].Name]
		if c == nil || c.ResourceVersion != list[i].ResourceVersion || c.UID != list[i].UID ||
			c.Data["i"] != list[i].Data["i"] {
			return fmt.Errorf("%s is at %s, the reflector knows %v", list[i].Name, list[i].ResourceVersion, c)
		}
	}
	return nil
}
