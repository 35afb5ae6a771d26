package kubeapi_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
)

// slowLevels is storage where the levels of flow control are created slowly, one after the other. It calls created
// after each.
type slowLevels struct {
	storage.Backend
	mu      *sync.Mutex
	created func()
}

func (s slowLevels) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (int64, error) {
	if !strings.HasPrefix(key, "/registry/prioritylevelconfigurations/") {
		return s.Backend.Create(ctx, key, value, ttl)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	revision, err := s.Backend.Create(ctx, key, value, ttl)
	time.Sleep(20 * time.Millisecond) // for those that follow them
	s.created()
	return revision, err
}

// fewObjects is how much each resource has: one object that is not watched.
type fewObjects struct{}

func (fewObjects) Count(_, _ string) (int64, bool)    { return 1, true }
func (fewObjects) Watchers(_, _, _, _ string) (n int) { return 0 }

// TestLevelsDuringStart looks at the levels that apply while the first ones are stored: all of them, always.
func TestLevelsDuringStart(t *testing.T) {
	levels := flowcontrol.DefaultLevels()
	flow := flowcontrol.New(flowcontrol.Config{Reads: 1, Schemas: flowcontrol.DefaultSchemas(), Levels: levels,
		Objects: fewObjects{}})
	looks := 0
	look := func() {
		looks++
		w := httptest.NewRecorder()
		flow.Dumps()["dump_priority_levels"](w, nil)
		if got := strings.Count(w.Body.String(), "\n") - 1; got != len(levels) {
			t.Errorf("%d levels are in force when %d are stored, want %d", got, looks, len(levels))
		}
	}
	startServerOver(t, enabled, func(c *server.Config, b storage.Backend) storage.Backend {
		c.FlowControl = flow
		return slowLevels{b, &sync.Mutex{}, look}
	})
	if looks != len(levels) {
		t.Errorf("%d levels are stored, want %d", looks, len(levels))
	}
}
