package backend

import (
	"context"
	"fmt"
	"maps"

	"triplane.dev/generic/guard/audit"
)

// Truncate limits the size of events and batches that it passes to the next backend.
type Truncate struct {
	next               audit.Backend
	maxEvent, maxBatch int
	failures
}

// NewTruncate limits the encoded bytes of events and batches. A larger event loses its objects; if it is still
// too large, the event is lost. maxBatch must be at least maxEvent.
func NewTruncate(next audit.Backend, maxEvent, maxBatch int, m *audit.Metrics) *Truncate {
	return &Truncate{next: next, maxEvent: maxEvent, maxBatch: maxBatch, failures: newFailures(pluginTruncate, m)}
}

// Process implements audit.Backend.
func (t *Truncate) Process(events ...*audit.Event) bool {
	stored := true
	var batch []*audit.Event
	size := 0
	for _, e := range events {
		e, n := t.truncate(e)
		if e == nil {
			stored = false
			continue
		}
		if size+n > t.maxBatch && len(batch) > 0 {
			stored = t.next.Process(batch...) && stored
			batch, size = nil, 0
		}
		batch, size = append(batch, e), size+n
	}
	if len(batch) > 0 {
		stored = t.next.Process(batch...) && stored
	}
	return stored
}

// truncate returns the event, or a smaller copy, with its encoded size. It returns nil if the copy is still too
// large.
func (t *Truncate) truncate(e *audit.Event) (*audit.Event, int) {
	if len(e.RequestObject)+len(e.ResponseObject) <= t.maxEvent {
		n, err := encodedSize(e)
		if err != nil {
			t.failed(err, 1)
			return nil, 0
		}
		if n <= t.maxEvent {
			return e, n
		}
	}
	small := *e
	small.RequestObject, small.ResponseObject = nil, nil
	if small.Annotations = maps.Clone(e.Annotations); small.Annotations == nil {
		small.Annotations = map[string]string{}
	}
	small.Annotations[audit.TruncatedAnnotation] = "true"
	n, err := encodedSize(&small)
	if err == nil && n > t.maxEvent {
		err = fmt.Errorf("event is too large even without its objects: %d bytes", n)
	}
	if err != nil {
		t.failed(err, 1)
		return nil, 0
	}
	return &small, n
}

func encodedSize(e *audit.Event) (int, error) {
	b, err := e.Encode()
	return len(b), err
}

// Close implements audit.Backend.
func (t *Truncate) Close(ctx context.Context) { t.next.Close(ctx) }
