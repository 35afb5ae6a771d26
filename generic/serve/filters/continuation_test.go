package filters

import (
	"net/http"
	"testing"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
)

// longRunning returns the value of apiserver_longrunning_requests, and how many requests were counted.
func longRunning(t *testing.T, o *Options) (running, counted float64) {
	t.Helper()
	families, err := o.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "apiserver_longrunning_requests":
				running += m.GetGauge().GetValue()
			case "apiserver_request_total":
				counted += m.GetCounter().GetValue()
			}
		}
	}
	return running, counted
}

// A watch continues after the filters have returned. Only then do they complete it.
func TestWatchesContinue(t *testing.T) {
	const url = "/api/v1/namespaces/n/pods?watch=1"
	for name, c := range map[string]struct {
		url     string
		chain   func(defaults []Filter) []Filter
		panics  bool
		stages  string // of audit, while the continuation runs
		then    string // after it
		running float64
	}{
		"watch":  {url: url, stages: "RequestReceived ResponseStarted", then: "RequestReceived ResponseStarted ResponseComplete", running: 1},
		"panics": {url: url, panics: true, stages: "RequestReceived ResponseStarted", then: "RequestReceived ResponseStarted Panic", running: 1},
		// Filters of embedding programs may depend on the nested calls.
		"other filters": {url: url, chain: func(f []Filter) []Filter { return f }, then: "RequestReceived ResponseStarted ResponseComplete"},
		"list":          {url: "/api/v1/namespaces/n/pods", then: "RequestReceived ResponseComplete"},
	} {
		var options *Options
		var ran bool
		var k *events
		h, k := audited(audit.LevelMetadata, func(w http.ResponseWriter, r *http.Request) {
			request.MarkServed(r.Context())
			w.WriteHeader(http.StatusOK)
			_, continues := request.Continue(r.Context(), func() (over bool) {
				ran = true
				if running, counted := longRunning(t, options); running != c.running || counted != 0 || k.stages() != c.stages {
					t.Errorf("%s: %v requests run, %v were counted, stages %s", name, running, counted, k.stages())
				}
				if err := r.Context().Err(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if c.panics {
					panic("late")
				}
				return true
			})
			if continues != (c.stages != "") {
				t.Errorf("%s: continues: %t", name, continues)
			}
		}, func(o *Options) { o.BuildHandlerChain, options = c.chain, o })
		func() {
			defer func() {
				if cause := recover(); (cause == http.ErrAbortHandler) != c.panics { //nolint:errorlint // it is that value
					t.Errorf("%s: %v", name, cause)
				}
			}()
			serve(h, "GET", c.url, "Authorization", "Bearer admin")
		}()
		if running, counted := longRunning(t, options); running != 0 || counted != 1 || ran != (c.stages != "") || k.stages() != c.then {
			t.Errorf("%s: at the end %v requests run, %v were counted, stages %s", name, running, counted, k.stages())
		}
	}
}
