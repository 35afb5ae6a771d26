package registry

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
	"triplane.dev/generic/storage/wire"
)

// onEtcd returns the options of stores over an etcd in this process, with the
// real cache.
func onEtcd(tb testing.TB) RESTOptions {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := embedded.Start(ctx, embedded.Config{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	mux := cache.NewMultiplexer(server.Backend(), "/registry")
	done := make(chan error, 1)
	go func() { done <- mux.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		<-done //nolint:errcheck // it is the error of a context that has ended
		server.Close()
	})
	return RESTOptions{
		Backend: server.Backend(),
		Cache: func(c storage.CacheConfig) storage.Cache {
			return mux.Cache(cache.Config{CacheConfig: c})
		},
		Prefix: "/registry", Budget: storage.NewBudget(0), DeleteCollectionWorkers: 4,
	}
}

func etcdStore[T kind.Object](tb testing.TB, k *kind.Kind[T]) *Store[T] {
	tb.Helper()
	s, err := NewStore(k, testScheme(tb), onEtcd(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestOnEtcd(t *testing.T) {
	s := etcdStore(t, configMapKind())
	t.Run("writers do not lose updates", func(t *testing.T) { concurrentUpdates(t, s) })
	t.Run("a writer reads what it wrote", func(t *testing.T) { readYourWrites(t, s) })
	t.Run("answer, read and event share bytes", func(t *testing.T) { sharedBytes(t, s) })
	t.Run("deleting and updating at once", func(t *testing.T) { deleteRaces(t, s) })
	t.Run("pages", func(t *testing.T) { pages(t, s) })
}

func concurrentUpdates(t *testing.T, s *Store[*corev1.ConfigMap]) {
	c := configMap("counter")
	c.Data["n"] = "0"
	must[*corev1.ConfigMap](t, create(s, c))
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				if _, err := s.Modify(inNamespace(), "counter", nil, false, func(c *corev1.ConfigMap) error {
					n, err := strconv.Atoi(c.Data["n"])
					c.Data["n"] = strconv.Itoa(n + 1)
					return err
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := must[*corev1.ConfigMap](t, get(s, "counter")).Data["n"]; got != strconv.Itoa(writers*each) {
		t.Errorf("counted to %s", got)
	}
}

func readYourWrites(t *testing.T, s *Store[*corev1.ConfigMap]) {
	for i := range 20 {
		name := fmt.Sprintf("w%d", i)
		in := must[*corev1.ConfigMap](t, create(s, configMap(name)))
		if got := must[*corev1.ConfigMap](t, get(s, name)); got.ResourceVersion != in.ResourceVersion {
			t.Fatalf("read %s after writing %s", got.ResourceVersion, in.ResourceVersion)
		}
		if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
		if _, err := get(s, name)(); !apierrors.IsNotFound(err) {
			t.Fatalf("read after the deletion: %v", err)
		}
	}
}

func sharedBytes(t *testing.T, s *Store[*corev1.ConfigMap]) {
	ctx, cancel := context.WithTimeout(inNamespace(), 10*time.Second)
	defer cancel()
	stream, err := s.Watch(ctx, &metainternalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "shared")})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	answer, err := create(s, configMap("shared"))()
	if err != nil {
		t.Fatal(err)
	}
	events, err := stream.Next(ctx)
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	read, err := get(s, "shared")()
	if err != nil {
		t.Fatal(err)
	}
	first := func(o any) *byte {
		t.Helper()
		b, err := o.(rest.Stored).Wire(v1, wire.JSON)
		if err != nil {
			t.Fatal(err)
		}
		return &b[0]
	}
	if first(events[0].Object) != first(read) {
		t.Error("event and read have bytes of their own")
	}
	// The watch may be faster than the announcement, but the bytes are equal.
	a, _ := answer.(rest.Stored).Wire(v1, wire.JSON)
	b, _ := read.(rest.Stored).Wire(v1, wire.JSON)
	if string(a) != string(b) {
		t.Errorf("answered %s\nread %s", a, b)
	}
}

func deleteRaces(t *testing.T, s *Store[*corev1.ConfigMap]) {
	for range 10 {
		must[*corev1.ConfigMap](t, create(s, configMap("race")))
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := s.Modify(inNamespace(), "race", nil, false, func(c *corev1.ConfigMap) error {
				c.Data["k"] = "w"
				return nil
			})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, _, err := s.Delete(inNamespace(), rest.DeleteRequest{Name: "race", Options: &metav1.DeleteOptions{}}); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if _, err := get(s, "race")(); !apierrors.IsNotFound(err) {
			t.Fatalf("after the deletion: %v", err)
		}
	}
}

func pages(t *testing.T, s *Store[*corev1.ConfigMap]) {
	if _, err := s.DeleteCollection(inNamespace(), rest.DeleteCollectionRequest{}); err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		must[*corev1.ConfigMap](t, create(s, configMap(fmt.Sprintf("p%d", i))))
	}
	var all []string
	o := metainternalversion.ListOptions{Limit: 3}
	for {
		l, err := s.list(inNamespace(), &o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names(l))
		if o.Continue = l.Continue; l.Continue == "" {
			break
		}
	}
	if fmt.Sprint(all) != "[p0 p1 p2 p3 p4 p5 p6]" || len(all) != 3 {
		t.Errorf("pages %q", all)
	}
}
