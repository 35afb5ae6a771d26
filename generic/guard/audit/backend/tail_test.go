package backend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triplane.dev/generic/guard/audit"
)

func TestTail(t *testing.T) {
	tail := &Tail{}
	read := func(after string) (got struct {
		Events []audit.Event
		Last   int
	}) {
		w := httptest.NewRecorder()
		tail.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/audit"+after, nil))
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, w.Body)
		}
		return got
	}
	event := func(n int, stage audit.Stage) *audit.Event {
		return &audit.Event{Stage: stage, RequestURI: fmt.Sprint("/", n), RequestObject: []byte(`{"secret":"x"}`)}
	}
	tail.Process(event(0, audit.StageResponseComplete))
	if got := read(""); len(got.Events) != 0 {
		t.Errorf("events are kept without a reader: %+v", got)
	}
	for n := range 2*tailEvents + 10 {
		tail.Process(event(n, audit.StageRequestReceived), event(n, audit.StageResponseComplete))
	}
	got := read("")
	if len(got.Events) != tailEvents || got.Last != 2*tailEvents+10 || got.Events[tailEvents-1].RequestURI != fmt.Sprint("/", 2*tailEvents+9) {
		t.Errorf("%d events, the last is %d", len(got.Events), got.Last)
	}
	if got.Events[0].RequestObject != nil {
		t.Error("the tail has objects")
	}
	tail.until.Store(1) // long ago
	tail.Process(event(0, audit.StageResponseComplete))
	if len(tail.events) > 0 {
		t.Errorf("%d events are kept after the last reader", len(tail.events))
	}
	read("")
	for n := range 3 {
		tail.Process(event(n, audit.StageResponseComplete))
	}
	got = read("")
	large := event(0, audit.StageResponseComplete)
	large.Annotations = map[string]string{"a": strings.Repeat("x", tailBytes)}
	tail.Process(large)
	if again := read(fmt.Sprint("?after=", got.Last-3)); len(again.Events) != 3 {
		t.Errorf("after the third last there are %d events", len(again.Events))
	}
}
