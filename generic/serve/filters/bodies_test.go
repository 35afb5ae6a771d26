package filters

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// deadlineRecorder is a response over a connection whose read deadline is recorded.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *deadlineRecorder) SetReadDeadline(t time.Time) error {
	d.deadline = t
	return nil
}

func TestShutdownWaitsForBodiesThatAreSent(t *testing.T) {
	const sending = 5 * time.Second // what a body of 3 MiB takes at 5 Mbit/s
	now := time.Now()
	soon, late := now.Add(time.Second), now.Add(time.Hour)
	post := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	var b Bodies
	record := func(deadline time.Time) *deadlineRecorder {
		w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
		b.await(w, post, deadline)
		return w
	}
	early, patient := record(soon), record(late)
	if !early.deadline.Equal(soon) || !patient.deadline.Equal(late) {
		t.Errorf("deadlines of %v and %v", early.deadline.Sub(now), patient.deadline.Sub(now))
	}
	b.Expire()
	for what, w := range map[string]*deadlineRecorder{"before": patient, "after": record(late)} {
		if left := w.deadline.Sub(now); left < sending || left > time.Minute/2 {
			t.Errorf("a body that began %s the shutdown has %v", what, left)
		}
	}
	if w := record(soon); !early.deadline.Equal(soon) || !w.deadline.Equal(soon) {
		t.Error("the shutdown prolongs the deadline of a request")
	}
}
