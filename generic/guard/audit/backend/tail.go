package backend

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"triplane.dev/generic/guard/audit"
)

const (
	// tailEvents limits how many events a Tail keeps, tailBytes the size of each.
	tailEvents = 500
	tailBytes  = 16 << 10
	// tailFollows is how long a Tail keeps collecting events after the last read.
	tailFollows = 5 * time.Minute
)

// Tail keeps the last events of completed requests, without their objects, for the console. Without readers it
// keeps nothing and costs nothing.
type Tail struct {
	until atomic.Int64 // Unix nanoseconds

	mu     sync.Mutex
	events []tailEvent
	last   uint64
}

type tailEvent struct {
	number uint64
	*audit.Event
}

// Process implements audit.Backend.
func (t *Tail) Process(events ...*audit.Event) bool {
	until := t.until.Load()
	if until == 0 {
		return true
	}
	if time.Now().UnixNano() > until {
		if t.until.CompareAndSwap(until, 0) {
			t.stopCollecting()
		}
		return true
	}
	for _, e := range events {
		if e.Stage == audit.StageResponseComplete || e.Stage == audit.StagePanic {
			t.keep(e)
		}
	}
	return true
}

func (t *Tail) keep(e *audit.Event) {
	own := *e
	own.RequestObject, own.ResponseObject = nil, nil
	if own.Size() > tailBytes {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.events = append(t.events, tailEvent{t.last, &own})
	if len(t.events) > 2*tailEvents {
		t.events = append([]tailEvent(nil), t.events[len(t.events)-tailEvents:]...)
	}
}

// Close implements audit.Backend.
func (t *Tail) Close(context.Context) {}

// ServeHTTP responds with the events after the number ?after=, at most tailEvents, and the number of the last
// event. It also starts the collection of events.
func (t *Tail) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "events can only be read", http.StatusMethodNotAllowed)
		return
	}
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil && r.URL.Query().Has("after") {
		http.Error(w, "after is the number of an event", http.StatusBadRequest)
		return
	}
	t.until.Store(time.Now().Add(tailFollows).UnixNano())
	events, last := t.after(after)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_ = json.NewEncoder(w).Encode(map[string]any{"events": events, "last": last}) // fails if the client has disconnected
}

// stopCollecting drops all events and stops the collection.
func (t *Tail) stopCollecting() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = nil
}

func (t *Tail) after(number uint64) (events []*audit.Event, last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	events = []*audit.Event{}
	for _, e := range t.events[max(0, len(t.events)-tailEvents):] {
		if e.number > number {
			events = append(events, e.Event)
		}
	}
	return events, t.last
}
