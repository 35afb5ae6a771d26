package requestmetrics

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/metrics"
)

// lived counts one of everything for a resource.
func (r *Metrics) lived(gr schema.GroupResource) {
	for _, verb := range []string{"POST", "APPLY", "GET", "LIST", "WATCH", "DELETE"} {
		k := Series{Verb: verb, Group: gr.Group, Version: "v1", Resource: gr.Resource, Scope: "resource"}
		r.Requests.Observe(&Done{Series: k, Known: true, Code: 200, Body: 10, Bytes: 10, Deprecation: "unavailable in v1.40+"})
		r.Requests.Observe(&Done{Series: k, Known: true, Code: 409, DryRun: true})
		r.Requests.LongRunning(k).Inc()
		r.Requests.Terminated(k, 504)
		r.Requests.Aborted(k)
		r.Requests.Self(k)
	}
	w := r.Watches.Of(gr.Group, "v1", gr.Resource)
	w.Sent(10)
	w.Initialized("cluster", time.Second)
}

// text returns the series of groups that end in "example.com".
func (r *Metrics) text(t *testing.T) string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for line := range strings.Lines(b.String()) {
		if strings.Contains(line, "example.com") {
			found = append(found, line)
		}
	}
	return strings.Join(found, "")
}

func TestForgetDeletesSeries(t *testing.T) {
	r := New()
	encrypted := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "encrypted"}, []string{"resource"})
	r.MustRegister(encrypted)
	r.FollowResources(encrypted.MetricVec)
	stays := schema.GroupResource{Group: "stays.example.com", Resource: "all"}
	r.lived(stays)
	encrypted.WithLabelValues(stays.String()).Inc()
	before := r.text(t)
	for range 2 {
		gone := metrics.Gone{}
		for i := range 1000 {
			gr := schema.GroupResource{Group: "goes.example.com", Resource: fmt.Sprint("r", i)}
			r.lived(gr)
			encrypted.WithLabelValues(gr.String()).Inc()
			gone[gr] = struct{}{}
		}
		r.Forget(gone)
		if now := r.text(t); now != before {
			t.Fatalf("%d bytes of metrics are %d now", len(before), len(now))
		}
		if n := len(r.Requests.series); n != 6 {
			t.Fatalf("%d kinds of requests are kept", n)
		}
	}
}

// Observers that were looked up before the deletion count after the resource is served again.
func TestResourcesServedAgain(t *testing.T) {
	r := New()
	gr := schema.GroupResource{Group: "example.com", Resource: "all"}
	watch := r.Watches.Of(gr.Group, "v1", gr.Resource)
	k := Series{Verb: "GET", Group: gr.Group, Version: "v1", Resource: gr.Resource, Scope: "resource"}
	happens := func() string {
		watch.Sent(10)
		r.Requests.Observe(&Done{Series: k, Known: true, Code: 200})
		return r.text(t)
	}
	var first []string
	for line := range strings.Lines(happens()) {
		if !strings.Contains(line, "_sum") {
			first = append(first, line)
		}
	}
	happens()
	r.Forget(metrics.Gone{gr: {}})
	if left := r.text(t); left != "" {
		t.Fatalf("%s are left", left)
	}
	again := happens()
	for _, line := range first {
		if !strings.Contains(again, line) {
			t.Errorf("%q is missing", line)
		}
	}
}

func TestForgetDuringRequests(t *testing.T) {
	r := New()
	stays, goes := schema.GroupResource{Group: "example.com", Resource: "stays"}, schema.GroupResource{Group: "example.com", Resource: "goes"}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				for _, gr := range []schema.GroupResource{stays, goes} {
					r.Requests.Observe(&Done{Series: Series{Verb: "GET", Group: gr.Group, Resource: gr.Resource}, Known: true, Code: 200})
				}
			}
		})
	}
	for range 20 {
		r.Forget(metrics.Gone{goes: {}})
	}
	all.Wait()
	r.Forget(metrics.Gone{goes: {}})
	if now := r.text(t); !strings.Contains(now, `resource="stays",scope="",subresource="",verb="GET",version=""} 800`) || strings.Contains(now, "goes") {
		t.Error(now)
	}
}
