package observed

import (
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/memory"
)

// Sweep counts ranges without a resource.
func TestSweep(t *testing.T) {
	m := metrics.New()
	b := New(memory.New(), NewMetrics(m), "example.com", "widgets")
	resources := func() (found []string) {
		families, err := m.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if !strings.HasPrefix(f.GetName(), "etcd_") && !strings.HasPrefix(f.GetName(), "apiserver_storage_") {
				continue
			}
			for _, series := range f.Metric {
				for _, l := range series.Label {
					if l.GetName() == "resource" {
						found = append(found, f.GetName()+" "+l.GetValue())
					}
				}
			}
		}
		return found
	}
	for _, opts := range []storage.RangeOptions{{Prefix: "/registry/"}, {Prefix: "/registry/", CountOnly: true}} {
		if _, err := b.Range(Sweep(t.Context()), opts); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range resources() {
		if r[len(r)-1] != ' ' {
			t.Errorf("a sweep is counted as %s", r)
		}
	}
	if _, err := b.Range(t.Context(), storage.RangeOptions{Prefix: "/registry/"}); err != nil {
		t.Fatal(err)
	}
	if found := resources(); len(found) == 0 || found[len(found)-1] != "etcd_requests_total widgets" {
		t.Errorf("a read is counted as %v", found)
	}
}

// The series of resources that are no longer served are deleted, and begin at 0 when the resource is served again.
func TestForgetDeletesSeries(t *testing.T) {
	r := metrics.New()
	m := NewMetrics(r)
	use := func(b *Backend) int {
		if _, err := b.Range(t.Context(), storage.RangeOptions{Prefix: "/registry/"}); err != nil {
			t.Fatal(err)
		}
		b.get.done(time.Now(), true)
		families, err := r.Gather()
		if err != nil {
			t.Fatal(err)
		}
		series := 0
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "etcd_") || strings.HasPrefix(f.GetName(), "apiserver_storage_") {
				series += len(f.Metric)
			}
			if f.GetName() == "etcd_requests_total" && f.Metric[0].Counter.GetValue() != 1 {
				t.Errorf("%v", f)
			}
		}
		return series
	}
	b := New(memory.New(), m, "example.com", "widgets")
	first := use(b)
	r.Forget(metrics.Gone{{Group: "example.com", Resource: "widgets"}: {}})
	if again := use(b); again != first || first < 8 {
		t.Errorf("%d series, then %d", first, again)
	}
}
