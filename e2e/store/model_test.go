// Random operations of several clients, whose responses, lists and watches must agree.

package store

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev"
)

// TestRandomOperations has several clients write, list and watch the same few
// objects of a server in this process, and holds what they are sent against each
// other: no acknowledged write is lost, resource versions only grow, and every
// list is what the watch's history says it was.
func TestRandomOperations(t *testing.T) {
	o := triplane.NewOptions()
	o.DataDir = t.TempDir()
	o.SecureServing.BindPort = 0
	s, err := triplane.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	m := &model{t: t, maps: kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default"),
		acknowledged: map[int64]string{}}
	begin, err := m.maps.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: begin.ResourceVersion,
		LabelSelector: "model"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	for worker := range 6 {
		clients.Go(func() { m.write(ctx, worker) })
	}
	for range 2 {
		clients.Go(func() { m.list(ctx) })
	}
	clients.Wait()

	end, err := m.maps.List(t.Context(), metav1.ListOptions{LabelSelector: "model"})
	if err != nil {
		t.Fatal(err)
	}
	m.lists = append(m.lists, *end)
	last, err := m.maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "last",
		Labels: map[string]string{"model": ""}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.check(m.history(w, last.ResourceVersion))
	t.Logf("%d writes, %d lists", len(m.acknowledged), len(m.lists))
}

// model notes what the server sent its clients.
type model struct {
	t    *testing.T
	maps clientv1.ConfigMapInterface

	mu           sync.Mutex
	acknowledged map[int64]string // by revision: what the write left behind
	deleted      []types.UID
	lists        []corev1.ConfigMapList
}

// content is all of an object that the model compares.
func content(c *corev1.ConfigMap) string { return fmt.Sprint(c.Name, " ", c.UID, " ", c.Data) }

func atRevision(c *corev1.ConfigMap) int64 {
	n, err := strconv.ParseInt(c.ResourceVersion, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// write does random things to random objects.
func (m *model) write(ctx context.Context, worker int) {
	for i := 0; ctx.Err() == nil; i++ {
		name, key := fmt.Sprint("m", rand.IntN(8)), fmt.Sprint("w", worker)
		var c *corev1.ConfigMap
		var err error
		switch rand.IntN(6) {
		case 0:
			c, err = m.maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name,
				Labels: map[string]string{"model": ""}}}, metav1.CreateOptions{})
		case 1:
			c, err = m.increment(ctx, name)
		case 2:
			patch := fmt.Sprintf(`{"metadata":{"labels":{"model":""}},"data":{%q:"%d"}}`, key, i)
			kind := types.MergePatchType
			if i%2 == 0 {
				kind = types.StrategicMergePatchType
			}
			c, err = m.maps.Patch(ctx, name, kind, []byte(patch), metav1.PatchOptions{})
		case 3:
			a := corev1apply.ConfigMap(name, "default").WithLabels(map[string]string{"model": ""}).
				WithData(map[string]string{"a" + key: strconv.Itoa(i)})
			c, err = m.maps.Apply(ctx, a, metav1.ApplyOptions{FieldManager: key, Force: true})
		case 4:
			if c, err = m.maps.Get(ctx, name, metav1.GetOptions{}); err == nil {
				uid := c.UID
				err = m.maps.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
				if c = nil; err == nil {
					m.mu.Lock()
					m.deleted = append(m.deleted, uid)
					m.mu.Unlock()
				}
			}
		case 5:
			if c, err = m.maps.Get(ctx, name, metav1.GetOptions{}); err == nil && c.Labels["model"] != "" {
				m.t.Errorf("%s has labels %v", name, c.Labels)
			}
		}
		switch {
		case err == nil && c != nil:
			m.mu.Lock()
			if before, ok := m.acknowledged[atRevision(c)]; ok && before != content(c) {
				m.t.Errorf("revision %s is %s and %s", c.ResourceVersion, before, content(c))
			}
			m.acknowledged[atRevision(c)] = content(c)
			m.mu.Unlock()
		case err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) &&
			!apierrors.IsConflict(err):
			m.t.Error(err)
		}
	}
}

// increment adds one to a counter, which only a client with the latest version
// may.
func (m *model) increment(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	c, err := m.maps.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	n, _ := strconv.Atoi(c.Data["n"])
	if c.Data == nil {
		c.Data = map[string]string{}
	}
	c.Data["n"] = strconv.Itoa(n + 1)
	return m.maps.Update(ctx, c, metav1.UpdateOptions{})
}

// list notes lists, each of which has to hold what was acknowledged before.
func (m *model) list(ctx context.Context) {
	for ctx.Err() == nil {
		m.mu.Lock()
		newest := int64(0)
		for r := range m.acknowledged {
			newest = max(newest, r)
		}
		m.mu.Unlock()
		l, err := m.maps.List(ctx, metav1.ListOptions{LabelSelector: "model"})
		if err != nil {
			if ctx.Err() == nil {
				m.t.Error(err)
			}
			return
		}
		if at, err := strconv.ParseInt(l.ResourceVersion, 10, 64); err != nil || at < newest {
			m.t.Errorf("a list at %s after a write at %d", l.ResourceVersion, newest)
		}
		m.mu.Lock()
		m.lists = append(m.lists, *l)
		m.mu.Unlock()
		time.Sleep(5 * time.Millisecond)
	}
}

// history collects the events up to a revision.
func (m *model) history(w watch.Interface, until string) (events []watch.Event) {
	deadline := time.After(20 * time.Second)
	for {
		select {
		case e, ok := <-w.ResultChan():
			c, isMap := e.Object.(*corev1.ConfigMap)
			if !ok || !isMap {
				m.t.Fatalf("the watch ended: %v", e)
			}
			events = append(events, e)
			if c.ResourceVersion == until {
				return events
			}
		case <-deadline:
			m.t.Fatalf("no event at %s", until)
		}
	}
}

// check replays the history.
func (m *model) check(events []watch.Event) {
	present := map[string]*corev1.ConfigMap{}
	sent := map[int64]string{}
	gone := map[types.UID]bool{}
	at := int64(0)
	lists := m.lists
	next := func(until int64) {
		rest := lists[:0:0]
		for _, l := range lists {
			if r, _ := strconv.ParseInt(l.ResourceVersion, 10, 64); r < until {
				m.same(l, present)
			} else {
				rest = append(rest, l)
			}
		}
		lists = rest
	}
	for _, e := range events {
		c := e.Object.(*corev1.ConfigMap)
		r, had := atRevision(c), present[c.Name]
		if r <= at {
			m.t.Errorf("%s at %d after %d", e.Type, r, at)
		}
		next(r)
		at = r
		switch e.Type {
		case watch.Added:
			if had != nil || gone[c.UID] {
				m.t.Errorf("%s was added twice", content(c))
			}
			present[c.Name], sent[r] = c, content(c)
		case watch.Modified:
			if had == nil || had.UID != c.UID {
				m.t.Errorf("%s was modified, but not there", content(c))
			} else if before, now := count(had), count(c); now != before && now != before+1 {
				m.t.Errorf("%s counted from %d to %d", c.Name, before, now)
			}
			present[c.Name], sent[r] = c, content(c)
		case watch.Deleted:
			if had == nil || content(had) != content(c) {
				m.t.Errorf("%s was deleted, but was %v", content(c), had)
			}
			delete(present, c.Name)
			gone[c.UID] = true
		default:
			m.t.Errorf("event %s", e.Type)
		}
	}
	if next(at + 1); len(lists) > 0 {
		m.t.Errorf("%d lists are of no time that the watch sent", len(lists))
	}
	for r, c := range m.acknowledged {
		if sent[r] != c {
			m.t.Errorf("acknowledged at %d: %s, sent: %q", r, c, sent[r])
		}
	}
	for _, uid := range m.deleted {
		if !gone[uid] {
			m.t.Errorf("the deletion of %s was not sent", uid)
		}
	}
}

func count(c *corev1.ConfigMap) int {
	n, _ := strconv.Atoi(c.Data["n"])
	return n
}

func (m *model) same(l corev1.ConfigMapList, present map[string]*corev1.ConfigMap) {
	for i := range l.Items {
		c := &l.Items[i]
		if p := present[c.Name]; p == nil || p.ResourceVersion != c.ResourceVersion || content(p) != content(c) {
			m.t.Errorf("a list at %s has %s at %s, the watch said %v", l.ResourceVersion, content(c), c.ResourceVersion,
				p)
		}
	}
	if len(l.Items) != len(present) {
		m.t.Errorf("a list at %s has %d objects, the watch said %d", l.ResourceVersion, len(l.Items), len(present))
	}
}
