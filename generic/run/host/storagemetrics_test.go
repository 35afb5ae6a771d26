package host

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
	"triplane.dev/generic/storage/observed"
)

// unfilled is a cache that no client has read.
type unfilled struct{ storage.Cache }

func (unfilled) Count() (int64, bool) { return 0, false }

// Scrapes count the objects of all resources, but make no series of requests for those that nobody uses.
func TestScrapesMakeNoSeriesOfRequests(t *testing.T) {
	m := metrics.New()
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	below := observed.New(memory.New(), observed.NewMetrics(m), widgets.Group, widgets.Resource)
	if _, err := below.Create(t.Context(), "/registry/widgets/a", []byte("{}"), 0); err != nil {
		t.Fatal(err)
	}
	s := &storageMetrics{countsHold: time.Minute}
	s.refresh(t.Context(), map[schema.GroupResource]cacheBelow{
		widgets: {Cache: unfilled{}, prefix: "/registry/widgets/", backend: below}})
	if s.counts[widgets] != 1 {
		t.Errorf("%d objects", s.counts[widgets])
	}
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, series := range f.Metric {
			labels := map[string]string{}
			for _, l := range series.Label {
				labels[l.GetName()] = l.GetValue()
			}
			if strings.HasPrefix(f.GetName(), "etcd_") && labels["resource"] == "widgets" && labels["operation"] != "create" {
				t.Errorf("%s has %v", f.GetName(), labels)
			}
		}
	}
}
