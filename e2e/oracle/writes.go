package oracle

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Writes are those of some clients to config maps of their own, and what each object must hold
// by what was acknowledged.
type Writes struct {
	namespace string

	mu      sync.Mutex
	objects map[string]*object
	acked   int
	wrong   []string
	more    chan struct{} // closed and replaced when a write was acknowledged
}

// object is what is known of one: absent is the value of one that is not there.
type object struct {
	value string
	// doubtful are values of writes that were not answered.
	doubtful []string
}

const absent = ""

// NewWrites is for objects in a namespace that nobody else writes to.
func NewWrites(namespace string) *Writes {
	return &Writes{namespace: namespace, objects: map[string]*object{}, more: make(chan struct{})}
}

// Acknowledged is how many writes were.
func (w *Writes) Acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked
}

// until is how long writes and a server that comes back may take.
const until = 60 * time.Second

// Writer changes config maps of a namespace: a client of a server does, and whoever writes to its
// store.
type Writer interface {
	Create(ctx context.Context, c *corev1.ConfigMap, opts metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, c *corev1.ConfigMap, opts metav1.UpdateOptions) (*corev1.ConfigMap, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
}

// During writes, calls fault when n more writes were acknowledged, and stops writing.
func (w *Writes) During(t testing.TB, config *rest.Config, n int, fault func()) {
	t.Helper()
	w.Through(t, []Writer{kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(w.namespace)}, n, fault)
}

// Through is During where each write takes any of several ways, whoever made the last one.
func (w *Writes) Through(t testing.TB, ways []Writer, n int, fault func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var writers sync.WaitGroup
	for worker := range 4 {
		writers.Go(func() { w.write(ctx, ways, worker) })
	}
	w.await(t, w.Acknowledged()+n)
	fault()
	stop()
	writers.Wait()
}

func (w *Writes) await(t testing.TB, n int) {
	t.Helper()
	late := time.After(until)
	for {
		w.mu.Lock()
		acked, more := w.acked, w.more
		w.mu.Unlock()
		if acked >= n {
			return
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("%d writes were acknowledged in %v, not %d", acked, until, n)
		}
	}
}

// write changes objects until ctx ends, none of them again whose last change was not answered.
func (w *Writes) write(ctx context.Context, ways []Writer, worker int) {
	for i := 0; ctx.Err() == nil; i++ {
		maps := ways[rand.IntN(len(ways))]
		name := fmt.Sprintf("w%d-%d", worker, rand.IntN(50))
		was, sure := w.now(name)
		if !sure {
			time.Sleep(time.Millisecond) // all may be in doubt
			continue
		}
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
			Data: map[string]string{"v": fmt.Sprintf("%d-%s", i, strings.Repeat("x", rand.IntN(2000)))}}
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second) // it is not to happen later
		var err error
		switch {
		case was == absent:
			_, err = maps.Create(call, c, metav1.CreateOptions{})
		case rand.IntN(5) == 0:
			c.Data["v"] = absent
			err = maps.Delete(call, name, metav1.DeleteOptions{})
		default:
			_, err = maps.Update(call, c, metav1.UpdateOptions{})
		}
		cancel()
		w.note(name, c.Data["v"], err)
		if err != nil && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // the server is away, and not to be flooded when it comes back
		}
	}
}

// now is the value that an object must have, unless that is in doubt.
func (w *Writes) now(name string) (value string, sure bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.objects[name]
	if o == nil {
		return absent, true
	}
	return o.value, len(o.doubtful) == 0
}

func (w *Writes) note(name, value string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.objects[name]
	if o == nil {
		o = &object{}
		w.objects[name] = o
	}
	if err != nil {
		if apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
			w.wrong = append(w.wrong, fmt.Sprintf("%s, which holds %.20q: %v", name, o.value, err))
		}
		o.doubtful = append(o.doubtful, value)
		return
	}
	o.value = value
	w.acked++
	close(w.more)
	w.more = make(chan struct{})
}

// Check compares what is there with what was acknowledged, and fails the test where it differs. From
// then on there are no doubts.
func (w *Writes) Check(t testing.TB, config *rest.Config) {
	t.Helper()
	list, err := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps(w.namespace).
		List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, c := range list.Items {
		have[c.Name] = c.Data["v"]
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, o := range w.objects {
		found := have[name]
		right := found == o.value
		for _, v := range o.doubtful {
			right = right || found == v
		}
		if !right {
			w.wrong = append(w.wrong, fmt.Sprintf("%s holds %.20q, acknowledged was %.20q, unanswered were %d", name,
				found, o.value, len(o.doubtful)))
		}
		o.value, o.doubtful = found, nil
	}
	for _, wrong := range w.wrong {
		t.Error(wrong)
	}
	w.wrong = nil
}
