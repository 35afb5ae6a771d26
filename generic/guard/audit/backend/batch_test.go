package backend

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/audit"
)

// failed returns the number of events that a backend has lost.
func failed(t *testing.T, m *metrics.Registry, plugin string) float64 {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.Metric {
			if f.GetName() == "apiserver_audit_error_total" && s.Label[0].GetValue() == plugin {
				return s.Counter.GetValue()
			}
		}
	}
	return 0
}

func TestBatchIsSentWhenFull(t *testing.T) {
	s := newSink()
	b := NewBatch(s, BatchConfig{BufferSize: 10, MaxSize: 2, MaxWait: time.Hour}, nil)
	b.Process(event("1"))
	b.Process(event("2"), event("3"))
	if got := s.next(t); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("got %v", got)
	}
	b.Close(context.Background())
	if got := s.next(t); !slices.Equal(got, []string{"3"}) {
		t.Errorf("the end: got %v", got)
	}
	if n := b.bytes.Load(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}

func TestBatchIsSentAfterAWhile(t *testing.T) {
	s := newSink()
	b := NewBatch(s, BatchConfig{BufferSize: 10, MaxSize: 10, MaxWait: time.Millisecond}, nil)
	defer b.Close(context.Background())
	b.Process(event("1"))
	if got := s.next(t); !slices.Equal(got, []string{"1"}) {
		t.Errorf("got %v", got)
	}
}

func TestBatchLosesWhatDoesNotFit(t *testing.T) {
	m := metrics.New()
	s := newSink()
	s.hold = make(chan struct{})
	b := NewBatch(s, BatchConfig{BufferSize: 2, MaxSize: 1, Parallel: 1}, audit.NewMetrics(m))
	b.Process(event("0"))
	s.next(t) // which is being sent now
	for i := range 20 {
		if !b.Process(event(strconv.Itoa(i))) {
			t.Error("a request heard of a full buffer")
		}
	}
	// One batch waits for a slot, two events are buffered.
	if lost := failed(t, m, "buffered"); lost < 17 || lost > 18 {
		t.Errorf("%v were lost", lost)
	}
	close(s.hold)
	b.Close(context.Background())
	b.Process(event("late"))
	if lost := failed(t, m, "buffered"); lost < 18 {
		t.Errorf("what came after the end is not counted: %v", lost)
	}
}

func TestBatchBoundsBytes(t *testing.T) {
	m := metrics.New()
	s := newSink()
	b := NewBatch(s, BatchConfig{BufferSize: 1000, MaxSize: 1000, MaxWait: time.Hour}, audit.NewMetrics(m))
	large := &audit.Event{ResponseObject: make([]byte, maxBufferedBytes/3)}
	for range 4 {
		b.Process(large)
	}
	if lost := failed(t, m, "buffered"); lost != 2 {
		t.Errorf("%v were lost", lost)
	}
	b.Close(context.Background())
	if got := s.next(t); len(got) != 2 {
		t.Errorf("%d were sent", len(got))
	}
}

func TestBatchSurvivesAPanic(t *testing.T) {
	m := metrics.New()
	s := newSink()
	s.panics = true
	b := NewBatch(s, BatchConfig{BufferSize: 10, MaxSize: 1}, audit.NewMetrics(m))
	b.Process(event("1"), event("2"))
	b.Close(context.Background())
	if lost := failed(t, m, "buffered"); lost != 2 {
		t.Errorf("%v were lost", lost)
	}
}

func TestBatchThrottles(t *testing.T) {
	s := newSink()
	b := NewBatch(s, BatchConfig{BufferSize: 10, MaxSize: 1, ThrottleQPS: 0.001, ThrottleBurst: 2, Parallel: 2}, nil)
	b.Process(event("1"), event("2"), event("3"))
	s.next(t)
	s.next(t)
	if len(s.batches) != 0 {
		t.Error("more than the burst")
	}
	b.Close(context.Background()) // the rest is not throttled
	if got := s.next(t); !slices.Equal(got, []string{"3"}) {
		t.Errorf("got %v", got)
	}
}

func TestBatchCloseIsBounded(t *testing.T) {
	s := newSink()
	s.hold = make(chan struct{})
	b := NewBatch(closer{s}, BatchConfig{BufferSize: 10, MaxSize: 1}, nil)
	b.Process(event("1"))
	s.next(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.Close(ctx) // would hang if what is sent were not given up
}

// closer is a backend whose Process returns when it is closed.
type closer struct{ *sink }

func (c closer) Close(context.Context) { close(c.hold) }

func TestUnionAndIgnoredErrors(t *testing.T) {
	good, bad := newSink(), newSink()
	bad.fails = true
	if (Union{bad, good}).Process(event("1")) {
		t.Error("a failure is not reported")
	}
	if len(good.batches) != 1 || len(bad.batches) != 1 {
		t.Error("not all got the event")
	}
	u := Union{IgnoreErrors{bad}, good}
	if !u.Process(event("2")) {
		t.Error("an ignored failure is reported")
	}
	u.Close(context.Background())
	for _, s := range []*sink{good, bad} {
		s.next(t)
		s.next(t)
		if _, open := <-s.batches; open {
			t.Error("not closed")
		}
	}
}

func TestFailuresAreCounted(t *testing.T) {
	m := metrics.New()
	f := newFailures("x", audit.NewMetrics(m))
	f.failed(errFull, 2)
	f.failed(errFull, 1)
	if got := failed(t, m, "x"); got != 3 {
		t.Errorf("%v", got)
	}
}
