package filters

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
)

// events records a summary of each event.
type events struct {
	mu    sync.Mutex
	all   []*audit.Event
	fails bool
}

func (e *events) Process(list ...*audit.Event) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, list...)
	return !e.fails
}

func (e *events) Close(context.Context) {}

func (e *events) stages() string {
	var s []string
	for _, one := range e.all {
		s = append(s, string(one.Stage))
	}
	return strings.Join(s, " ")
}

func audited(level audit.Level, director http.HandlerFunc, change func(*Options)) (http.Handler, *events) {
	k, o := &events{}, testOptions()
	o.Audit = audit.New(&audit.Policy{Rules: []audit.PolicyRule{{Level: audit.LevelNone, Users: []string{"granted"}, Verbs: []string{"deletecollection"}}, {Level: level}}}, k, audit.NewMetrics(o.Metrics))
	if change != nil {
		change(&o)
	}
	return Chain(director, o), k
}

func TestAuditOfTheChain(t *testing.T) {
	const pods = "/api/v1/namespaces/n/pods"
	ok := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }
	bearer := func(name string) []string { return []string{"Authorization", "Bearer " + name} }
	for name, c := range map[string]struct {
		method, url string
		header      []string
		director    http.HandlerFunc
		stages      string
		code        int32
		decision    string
	}{
		"allowed":         {"GET", pods, bearer("admin"), ok, "RequestReceived ResponseComplete", 201, "allow"},
		"forbidden":       {"GET", pods, bearer("alice"), ok, "RequestReceived ResponseComplete", 403, "forbid"},
		"broken":          {"GET", "/api/v1/broken", bearer("alice"), ok, "RequestReceived ResponseComplete", 500, ""},
		"unauthenticated": {"GET", pods, bearer("bad"), ok, "ResponseStarted", 401, ""},
		"watch":           {"GET", pods + "?watch=1", bearer("admin"), ok, "RequestReceived ResponseStarted ResponseComplete", 201, "allow"},
		"no answer":       {"GET", pods, bearer("admin"), func(http.ResponseWriter, *http.Request) {}, "RequestReceived ResponseComplete", 200, "allow"},
		"panic":           {"GET", pods, bearer("admin"), func(http.ResponseWriter, *http.Request) { panic("x") }, "RequestReceived Panic", 500, "allow"},
		"not audited":     {"DELETE", pods, bearer("granted"), ok, "", 0, ""},
		"impersonated":    {"GET", pods, append(bearer("granted"), "Impersonate-User", "jane"), ok, "RequestReceived ResponseComplete", 201, "allow"},
		"not allowed to":  {"GET", pods, append(bearer("alice"), "Impersonate-User", "jane"), ok, "RequestReceived ResponseComplete", 403, ""},
	} {
		h, k := audited(audit.LevelMetadata, c.director, nil)
		serve(h, c.method, c.url, c.header...)
		if k.stages() != c.stages {
			t.Errorf("%s: %s", name, k.stages())
			continue
		}
		if c.stages == "" {
			continue
		}
		last := k.all[len(k.all)-1]
		if last.ResponseStatus.Code != c.code || last.Annotations[auditDecision] != c.decision {
			t.Errorf("%s: %+v", name, last)
		}
		if (last.ImpersonatedUser != nil) != (name == "impersonated") || c.code != 401 && last.User.Username != c.header[1][len("Bearer "):] {
			t.Errorf("%s: %+v as %+v", name, last.User, last.ImpersonatedUser)
		}
	}
}

// Responses to unauthenticated requests are recorded.
func TestAuditOfWhatNeedsNoUser(t *testing.T) {
	h, k := audited(audit.LevelMetadata, func(http.ResponseWriter, *http.Request) {}, func(o *Options) {
		o.CrossSiteOptions = CrossSiteOptions{RejectCrossSite: true}
		o.PublicFilesOptions = PublicFilesOptions{PublicPrefixes: []string{"/console/"}, PublicFiles: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("file"))
		})}
	})
	for i, c := range []struct {
		method, url string
		code        int32
	}{{"POST", "/api/v1/namespaces", http.StatusForbidden}, {"GET", "/console/app.js", http.StatusOK}} {
		serve(h, c.method, c.url, "Sec-Fetch-Site", "cross-site")
		if len(k.all) != i+1 {
			t.Fatalf("%s %s: %d events", c.method, c.url, len(k.all))
		}
		if e := k.all[i]; e.RequestURI != c.url || e.Stage != audit.StageResponseStarted || e.ResponseStatus.Code != c.code || e.User.Username != "" {
			t.Errorf("%s %s: %+v", c.method, c.url, e)
		}
	}
}

func TestAuditRefusesWhatCannotBeStored(t *testing.T) {
	called := false
	h, k := audited(audit.LevelMetadata, func(http.ResponseWriter, *http.Request) { called = true }, nil)
	k.fails = true
	w := serve(h, "GET", "/version", "Authorization", "Bearer admin")
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "failed to store audit event") || called {
		t.Errorf("%d %s, called %v", w.Code, w.Body, called)
	}
}

func TestAuditOfTimeouts(t *testing.T) {
	h, k := audited(audit.LevelMetadata, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		func(o *Options) { o.RequestTimeout = time.Millisecond })
	w := serve(h, "GET", "/version", "Authorization", "Bearer admin")
	if last := k.all[len(k.all)-1]; w.Code != http.StatusGatewayTimeout || last.ResponseStatus.Code != http.StatusGatewayTimeout {
		t.Errorf("%d, recorded %+v", w.Code, last.ResponseStatus)
	}
}

func TestAuditOfSlowRequests(t *testing.T) {
	late := time.Second
	h, k := audited(audit.LevelRequest, func(w http.ResponseWriter, r *http.Request) {
		exchangeOf(r).Received = time.Now().Add(-late)
		request.Spent(r.Context(), request.MutatingWebhook, time.Millisecond)
		request.Spent(r.Context(), request.MutatingWebhook, time.Millisecond)
		request.Spent(r.Context(), request.ValidatingWebhook, 3*time.Millisecond)
		request.Spent(r.Context(), request.ValidatingWebhook, 2*time.Millisecond)
		_, _ = w.Write([]byte("x"))
	}, nil)
	latencies := func(url string) map[string]string {
		serve(h, "GET", url, "Authorization", "Bearer admin")
		found := map[string]string{}
		for k, v := range k.all[len(k.all)-1].Annotations {
			if part, ok := strings.CutPrefix(k, latencyPrefix); ok {
				found[part] = v
			}
		}
		return found
	}
	slow := latencies("/api/v1/namespaces/n/pods")
	for part, want := range map[string]string{"mutating-webhook": "2ms", "validating-webhook": "3ms", "total": "", "authentication": "", "authorization": "", "response-write": ""} {
		if d, err := time.ParseDuration(slow[part]); err != nil || d <= 0 || want != "" && slow[part] != want {
			t.Errorf("%s took %q, want %s", part, slow[part], want)
		}
	}
	if len(slow) != 6 {
		t.Errorf("%v", slow)
	}
	if watch := latencies("/api/v1/namespaces/n/pods?watch=1"); len(watch) > 0 {
		t.Errorf("a watch has %v", watch)
	}
	if late = 0; len(latencies("/api/v1/namespaces/n/pods")) > 0 {
		t.Error("a fast request is annotated")
	}
}

func TestNoAuditCostsNothing(t *testing.T) {
	o := testOptions()
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		if n := testing.AllocsPerRun(10, func() {
			request.Annotate(ctx, "k", "v")
			audit.RecordFrom(ctx).ResponseObject(nil)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}), o)
	serve(h, "GET", "/version", "Authorization", "Bearer admin")
}

// encoded is a backend that encodes events.
type encoded struct{ b *testing.B }

func (e encoded) Process(events ...*audit.Event) bool {
	for _, one := range events {
		if _, err := one.Encode(); err != nil {
			e.b.Error(err)
		}
	}
	return true
}

func (encoded) Close(context.Context) {}

// BenchmarkAudit is like BenchmarkChain at each audit level. None is a policy that omits the request; Off is no
// policy.
func BenchmarkAudit(b *testing.B) {
	object := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"n"},"spec":{"containers":[{"name":"c","image":"i"}]}}`)
	for _, level := range []audit.Level{"Off", audit.LevelNone, audit.LevelMetadata, audit.LevelRequestResponse} {
		b.Run(string(level), func(b *testing.B) {
			o := testOptions()
			if level != "Off" {
				o.Audit = audit.New(&audit.Policy{OmitStages: []audit.Stage{audit.StageRequestReceived}, Rules: []audit.PolicyRule{{Level: level}}},
					encoded{b}, audit.NewMetrics(o.Metrics))
			}
			h := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				rec := audit.RecordFrom(r.Context())
				rec.RequestObject(object)
				rec.ResponseObject(object)
				w.WriteHeader(http.StatusOK)
			}), o)
			r := httptest.NewRequest(http.MethodPut, "/api/v1/namespaces/n/pods/p", nil)
			authorization := []string{"Bearer admin"}
			w := &discard{h: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				clear(w.h)
				r.Header["Authorization"] = authorization
				h.ServeHTTP(w, r)
			}
		})
	}
}
