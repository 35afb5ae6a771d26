package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"triplane/e2e/harness"
)

// TestInformerSurvivesRestart watches 5,000 objects, some of which change all the
// time, through a shutdown and a crash of the server, and looks for missed and
// invented events.
func TestInformerSurvivesRestart(t *testing.T) {
	const objects = 5000
	s := harness.Start(t)
	client := kubernetes.NewForConfigOrDie(s.Config)
	createConfigMaps(t, client, 0, objects)

	h := newHistory()
	f := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("default"))
	informer := f.Core().V1().ConfigMaps().Informer()
	if _, err := informer.AddEventHandler(h.handler()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	f.Start(ctx.Done())
	defer func() { stop(); f.Shutdown() }()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("not synced")
	}

	writing, stopWriting := context.WithCancel(ctx)
	var writers sync.WaitGroup
	var writes atomic.Int64
	for w := range 4 {
		writers.Go(func() { changeSome(writing, client, w, &writes) })
	}
	more := func() {
		before := writes.Load()
		eventually(t, func() error {
			if n := writes.Load() - before; n < 200 {
				return fmt.Errorf("only %d writes\n%s", n, s.Output())
			}
			return nil
		})
	}
	more()
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	more()
	s.Kill()
	s.Restart(t)
	more()
	stopWriting()
	writers.Wait()

	eventually(t, func() error {
		list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		return h.equals(list.Items)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, wrong := range h.wrong {
		t.Error(wrong)
	}
	if h.deletes == 0 || h.updates == 0 || h.adds <= objects {
		t.Errorf("%d added, %d updated, %d deleted: too few", h.adds, h.updates, h.deletes)
	}
	t.Logf("%d writes; %d added, %d updated, %d deleted, %d seen again", writes.Load(), h.adds, h.updates, h.deletes, h.again)
}

// changeSome creates, updates and deletes objects of its own until ctx ends.
// What fails because the server is away is tried no more.
func changeSome(ctx context.Context, client kubernetes.Interface, worker int, writes *atomic.Int64) {
	maps := client.CoreV1().ConfigMaps("default")
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprintf("w%d-%d", worker, rand.IntN(20))
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"i": strconv.Itoa(i)}}
		_, err := maps.Create(ctx, c, metav1.CreateOptions{})
		if err != nil && rand.IntN(3) == 0 {
			err = maps.Delete(ctx, name, metav1.DeleteOptions{})
		} else if err != nil {
			_, err = maps.Update(ctx, c, metav1.UpdateOptions{})
		}
		if err == nil {
			writes.Add(1)
		}
	}
}

// history is what an informer reported, and what cannot be true of it.
type history struct {
	mu                            sync.Mutex
	objects                       map[string]*corev1.ConfigMap
	adds, updates, deletes, again int
	wrong                         []string
}

func newHistory() *history { return &history{objects: map[string]*corev1.ConfigMap{}} }

func (h *history) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { h.note("added", nil, obj.(*corev1.ConfigMap)) },
		UpdateFunc: func(old, obj any) { h.note("updated", old.(*corev1.ConfigMap), obj.(*corev1.ConfigMap)) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			h.note("deleted", nil, obj.(*corev1.ConfigMap))
		},
	}
}

func (h *history) note(what string, old, c *corev1.ConfigMap) {
	h.mu.Lock()
	defer h.mu.Unlock()
	had := h.objects[c.Name]
	switch {
	case what == "added" && had != nil, what != "added" && had == nil:
		h.wrong = append(h.wrong, fmt.Sprintf("%s %s, which was there: %v", c.Name, what, had != nil))
	case what == "updated" && had.ResourceVersion != old.ResourceVersion:
		h.wrong = append(h.wrong, fmt.Sprintf("%s updated from %s, but was at %s", c.Name, old.ResourceVersion, had.ResourceVersion))
	case had != nil && revision(c) < revision(had):
		h.wrong = append(h.wrong, fmt.Sprintf("%s went back from %s to %s", c.Name, had.ResourceVersion, c.ResourceVersion))
	}
	switch what {
	case "added":
		h.adds++
		h.objects[c.Name] = c
	case "updated":
		if h.updates++; revision(c) == revision(old) {
			h.updates--
			h.again++ // the informer listed again, and reported what it found
		}
		h.objects[c.Name] = c
	case "deleted":
		h.deletes++
		delete(h.objects, c.Name)
	}
}

func revision(c *corev1.ConfigMap) uint64 {
	n, _ := strconv.ParseUint(c.ResourceVersion, 10, 64)
	return n
}

// equals holds what the informer reported against a list.
func (h *history) equals(list []corev1.ConfigMap) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(list) != len(h.objects) {
		return fmt.Errorf("%d objects, the informer knows %d", len(list), len(h.objects))
	}
	for i := range list {
		c := h.objects[list[i].Name]
		if c == nil || c.ResourceVersion != list[i].ResourceVersion || c.UID != list[i].UID || c.Data["i"] != list[i].Data["i"] {
			return fmt.Errorf("%s is at %s, the informer knows %v", list[i].Name, list[i].ResourceVersion, c)
		}
	}
	return nil
}
