package backend

import (
	"context"
	"slices"
	"strings"
	"testing"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/audit"
)

func TestTruncate(t *testing.T) {
	m := metrics.New()
	s := newSink()
	tr := NewTruncate(s, 1000, 1000, audit.NewMetrics(m))
	object := []byte(`"` + strings.Repeat("x", 2000) + `"`)
	annotated := event("annotated")
	annotated.RequestObject, annotated.Annotations = object, map[string]string{"k": "v"}
	medium := event("medium")
	medium.RequestURI = strings.Repeat("u", 700)
	hopeless := event("hopeless")
	hopeless.RequestURI, hopeless.ResponseObject = strings.Repeat("u", 2000), object
	if tr.Process(event("small"), annotated, medium, medium, hopeless) {
		t.Error("a lost event is not reported")
	}
	if len(s.batches) != 3 {
		t.Fatalf("%d batches", len(s.batches))
	}
	var all []*audit.Event
	for _, want := range [][]string{{"small", "annotated"}, {"medium"}, {"medium"}} {
		batch := <-s.batches
		var ids []string
		for _, e := range batch {
			ids = append(ids, string(e.AuditID))
		}
		if !slices.Equal(ids, want) {
			t.Errorf("got %v, want %v", ids, want)
		}
		all = append(all, batch...)
	}
	cut := all[1]
	if cut.RequestObject != nil || cut.Annotations[audit.TruncatedAnnotation] != "true" || cut.Annotations["k"] != "v" {
		t.Errorf("%+v", cut)
	}
	if len(annotated.Annotations) != 1 || annotated.RequestObject == nil {
		t.Error("the event itself was changed")
	}
	if got := failed(t, m, "truncate"); got != 1 {
		t.Errorf("%v failures", got)
	}
	tr.Close(context.Background())
	if _, open := <-s.batches; open {
		t.Error("not closed")
	}
}
