package cache

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"triplane.dev/generic/storage"
)

func TestPrefill(t *testing.T) {
	backend := newBackend(t)
	for resource, objects := range map[string]int{"few": prefillLeast - 1, "many": prefillLeast, "more": 2 * prefillLeast} {
		for i := range objects {
			if _, err := backend.Create(t.Context(), fmt.Sprintf("/registry/%s/%04d", resource, i), []byte("value"), 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	mux := NewMultiplexer(backend, "/registry")
	runMultiplexer(t, mux)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for _, step := range []struct {
		ctx        context.Context
		most       int64
		many, more int
	}{
		{ctx: stopped, most: 1 << 20},
		{ctx: t.Context(), most: 100},
		{ctx: t.Context(), most: prefillLeast * 30, many: prefillLeast},
		{ctx: t.Context(), most: 1 << 20, many: prefillLeast, more: 2 * prefillLeast},
	} {
		caches := map[string]*Cache{}
		for _, resource := range []string{"none", "few", "many", "more"} {
			caches[resource] = mux.Cache(Config{CacheConfig: storage.CacheConfig{Prefix: "/registry/" + resource + "/"}})
		}
		if err := mux.Prefill(step.ctx, step.most); !errors.Is(err, step.ctx.Err()) {
			t.Errorf("with %d bytes: %v", step.most, err)
		}
		for resource, want := range map[string]int{"none": 0, "few": 0, "many": step.many, "more": step.more} {
			if s := caches[resource].Stats(); s.Filled != (want > 0) || s.Records != want {
				t.Errorf("with %d bytes: %d %s are held, filled: %v, not %d", step.most, s.Records, resource, s.Filled, want)
			}
		}
	}
}
