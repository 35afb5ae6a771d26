package control

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/memory"
)

// Only known keys show that a resource has no objects.
func TestLack(t *testing.T) {
	all := &keys{sorted: []string{"/registry/configmaps/n/a", "/registry/podtemplates/n/a"}}
	for prefix, lacks := range map[string]bool{
		"/registry/configmaps/": false, "/registry/podtemplates/": false, "/registry/pods/": true, "/registry/a/": true,
		"/registry/services/specs/": true,
	} {
		if all.lack(prefix) != lacks || (*keys)(nil).lack(prefix) {
			t.Errorf("%s: no objects is %t, and without keys %t", prefix, !lacks, (*keys)(nil).lack(prefix))
		}
	}
}

// Objects that a cache has are read from it.
func TestReadCached(t *testing.T) {
	const prefix = "/registry/configmaps/"
	backend := memory.New()
	t.Cleanup(func() { _ = backend.Close() })
	want := map[string]string{"ns/small": "c",
		"ns/large": strings.Repeat("a", 40_000), "ns/larger": strings.Repeat("b", 50_000)}
	for name, value := range want {
		if _, err := backend.Create(t.Context(), prefix+name, []byte(value), 0); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	mux := cache.NewMultiplexer(backend, "/registry")
	done := make(chan struct{})
	go func() { _ = mux.Run(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })

	resource := schema.GroupResource{Resource: "configmaps"}
	f := NewFeed([]*cache.Multiplexer{mux}, &Resources{})
	c := mux.Cache(cache.Config{CacheConfig: storage.CacheConfig{Prefix: prefix, Namespaced: true}})
	if f.filled(prefix) != nil {
		t.Fatal("a cache that was not filled")
	}
	list, err := c.List(t.Context(), storage.ListOptions{Prefix: prefix})
	if err != nil || f.filled(prefix) != c {
		t.Fatalf("%v, cache %v", err, f.filled(prefix))
	}
	got := map[string]string{}
	f.On(resource, func(o *Object) { got[o.Namespace+"/"+o.Name] = string(o.Value) })
	f.OnListed(func(gr schema.GroupResource, revision int64, present func(string) bool) {
		if gr != resource || revision != list.Revision || !present(prefix+"ns/large") || !present(prefix+"ns/small") ||
			present(prefix+"ns/other") || present(prefix+"zz") {
			t.Errorf("%s listed at %d", gr, revision)
		}
	})
	f.readCached(resource, prefix, &list)
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s: %d bytes, want %d", name, len(got[name]), len(value))
		}
	}
	if f.seen[resource] != list.Revision {
		t.Errorf("seen %d, want %d", f.seen[resource], list.Revision)
	}
}
