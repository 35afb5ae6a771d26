package apiextensions

import (
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/serve/requestmetrics"
)

// counted is how many series there are of widgets.
func counted(t *testing.T, m *metrics.Registry) (n int) {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.Metric {
			for _, l := range series.Label {
				if l.GetName() == "resource" && l.GetValue() == "widgets" {
					n++
				}
			}
		}
	}
	return n
}

func TestMetricsOfRemovedDefinitionsAreForgotten(t *testing.T) {
	s, h, _ := serveWidgets(t)
	m, requests := s.handler.metrics, s.GenericAPIServer.Config().Metrics.Requests
	const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com"
	seen := func() {
		requests.Observe(&requestmetrics.Done{Series: requestmetrics.Series{Verb: "GET", Group: "example.com", Version: "v1", Resource: "widgets"}, Known: true, Code: 200})
	}
	sweep := func() {
		s.handler.dropMetrics(s.handler.removals.take())
		s.handler.dropMetrics(s.handler.removals.take())
	}
	seen()
	sweep()
	if counted(t, m) == 0 {
		t.Fatal("the metrics of a resource that is served are gone")
	}
	remove := func() {
		ask(t.Context(), h, "DELETE", crd, "")
		for deadline := time.Now().Add(30 * time.Second); s.catalogue.find(named("widgets.example.com")) != nil; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the CRD is not removed")
			}
		}
	}
	remove()
	s.handler.dropMetrics(s.handler.removals.take())
	if counted(t, m) == 0 {
		t.Fatal("the metrics are gone before what was under way is over")
	}
	ask(t.Context(), h, "POST", strings.TrimSuffix(crd, "/widgets.example.com"), widgets)
	for deadline := time.Now().Add(30 * time.Second); s.catalogue.find(named("widgets.example.com")) == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the CRD does not come back")
		}
	}
	sweep()
	if counted(t, m) == 0 {
		t.Fatal("the metrics of a resource that came back are gone")
	}
	remove()
	sweep()
	if n := counted(t, m); n != 0 {
		t.Fatalf("%d series are left", n)
	}
}
