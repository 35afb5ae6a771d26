package handlers

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/embedded"
)

// onEtcd returns the store of config maps over an etcd in this process, with
// its own limit of a request, 1.5 MiB.
func onEtcd(t *testing.T) *registry.Store[*corev1.ConfigMap] {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	server, err := embedded.Start(ctx, embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	mux := cache.NewMultiplexer(server.Backend(), "/registry")
	done := make(chan error, 1)
	go func() { done <- mux.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done //nolint:errcheck // it is the error of a context that has ended
		server.Close()
	})
	s, err := registry.NewStore(&kind.Kind[*corev1.ConfigMap]{
		Hub: configMapKind, Namespaced: true,
		New:     func() *corev1.ConfigMap { return &corev1.ConfigMap{} },
		NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
		Names:   kind.Names{Plural: "configmaps", Singular: "configmap"},
		Write:   kind.Write[*corev1.ConfigMap]{AllowUnconditionalUpdate: kind.Always},
	}, clientscheme.Scheme, registry.RESTOptions{
		Backend: server.Backend(),
		Cache:   func(c storage.CacheConfig) storage.Cache { return mux.Cache(cache.Config{CacheConfig: c}) },
		Prefix:  "/registry", Budget: storage.NewBudget(0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// largeMap is the body of a config map of so many keys, each with some bytes of
// value. Its managed fields name each key once more.
func largeMap(name string, keys, value int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q},"data":{`, name)
	for i := range keys {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"%0100d":%q`, i, strings.Repeat("v", value))
	}
	b.WriteString("}}")
	return b.String()
}

// An object that is too large for etcd with its managed fields alone is written
// without them; one that is too large as it is, is refused.
func TestTooLargeWithManagedFields(t *testing.T) {
	s := newScope(t)
	store := onEtcd(t)
	const (
		fits   = 8000  // about 0.9 MiB, and as much of managed fields
		excess = 16000 // 1.8 MiB
	)
	managed := func(name string) []metav1.ManagedFieldsEntry {
		t.Helper()
		obj, err := store.Read(request.WithNamespace(context.Background(), "ns"), name)
		if err != nil {
			t.Fatal(err)
		}
		return obj.ManagedFields
	}
	send := func(h http.HandlerFunc, method, path, body string, headers ...string) int {
		t.Helper()
		w := call(h, method, path, body, headers...)
		if w.Code >= 300 && !strings.Contains(w.Body.String(), storage.ErrTooLarge.Error()) {
			t.Errorf("%s %s: %d %.300s", method, path, w.Code, w.Body)
		}
		return w.Code
	}
	s.Storage = store.Resource()
	create, update, patch := Create(s), Update(s), Patch(s)

	if code := send(create, "POST", "/configmaps", largeMap("created", fits, 10)); code != http.StatusCreated || len(managed("created")) != 0 {
		t.Errorf("create: %d, managed fields %.100v", code, managed("created"))
	}
	if code := send(create, "POST", "/configmaps", largeMap("refused", excess, 10)); code != http.StatusInternalServerError {
		t.Errorf("create of what does not fit: %d", code)
	}
	for _, name := range []string{"updated", "patched"} {
		if code := send(create, "POST", "/configmaps", largeMap(name, 1, 1)); code != http.StatusCreated || len(managed(name)) != 1 {
			t.Fatalf("create of %s: %d, managed fields %v", name, code, managed(name))
		}
	}
	if code := send(update, "PUT", "/configmaps/updated", largeMap("updated", fits, 10)); code != http.StatusOK || len(managed("updated")) != 0 {
		t.Errorf("update: %d, managed fields %.100v", code, managed("updated"))
	}
	merge := []string{"Content-Type", "application/merge-patch+json"}
	if code := send(patch, "PATCH", "/configmaps/patched", largeMap("patched", excess, 10), merge...); code != http.StatusInternalServerError || len(managed("patched")) != 1 {
		t.Errorf("patch of what does not fit: %d, managed fields %.100v", code, managed("patched"))
	}
	if code := send(patch, "PATCH", "/configmaps/patched", largeMap("patched", fits, 10), merge...); code != http.StatusOK || len(managed("patched")) != 0 {
		t.Errorf("patch: %d, managed fields %.100v", code, managed("patched"))
	}
}
