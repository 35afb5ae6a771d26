package backend

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/guard/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink sends its batches to a channel.
type sink struct {
	batches chan []*audit.Event
	hold    chan struct{} // where not nil, Process waits until it is closed
	fails   bool
	closed  sync.Once
	panics  bool
}

func newSink() *sink { return &sink{batches: make(chan []*audit.Event, 1000)} }

func (s *sink) Process(events ...*audit.Event) bool {
	s.batches <- events
	if s.hold != nil {
		<-s.hold
	}
	if s.panics {
		panic("sink")
	}
	return !s.fails
}

func (s *sink) Close(context.Context) { s.closed.Do(func() { close(s.batches) }) }

// next returns the audit IDs of the next batch.
func (s *sink) next(t *testing.T) []string {
	t.Helper()
	select {
	case batch := <-s.batches:
		var ids []string
		for _, e := range batch {
			ids = append(ids, string(e.AuditID))
		}
		return ids
	case <-time.After(10 * time.Second):
		t.Fatal("no batch came")
		return nil
	}
}

func event(id string) *audit.Event { return &audit.Event{AuditID: types.UID(id)} }
