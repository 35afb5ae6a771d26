package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/healthz"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}

func newTestServer(t *testing.T, change func(*Config)) *GenericAPIServer {
	t.Helper()
	c := NewConfig()
	if change != nil {
		change(c)
	}
	s, err := c.Complete().New("test", EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs a prepared server until the returned function is called, which returns the result of Run.
func run(t *testing.T, p *PreparedServer) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			cancel()
			<-done //nolint:errcheck // it is the error of a context that has ended
		}
	})
	return func() error {
		stopped = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			t.Fatal("the server does not stop")
			return nil
		}
	}
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come true", what)
		}
	}
}

func TestChainOfServers(t *testing.T) {
	c := NewConfig()
	inner, err := c.Complete().New("inner", EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	inner.Handler.NonGoRestfulMux.Handle("/inner", says("inner"))
	inner.AddPostStartHookOrDie("one", func(HookContext) error { return nil })
	inner.AddHealthChecks(healthz.NamedCheck("mine", func() error { return nil }))
	outer, err := c.Complete().New("outer", inner)
	if err != nil {
		t.Fatal(err)
	}
	if err := outer.AddPostStartHook("one", func(HookContext) error { return nil }); err == nil {
		t.Error("two hooks have one name")
	}
	outer.AddPostStartHookOrDie("two", func(HookContext) error { return nil })
	outer.Handler.NonGoRestfulMux.Handle("/outer", says("outer"))
	p := outer.PrepareRun()
	run(t, p)

	for path, want := range map[string]string{"/inner": "inner", "/outer": "outer", "/none": "404 page not found\n"} {
		if got := get(p, path).Body.String(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	eventually(t, "readiness", func() bool { return get(p, "/readyz").Code == 200 })
	want := "[+]ping ok\n[+]log ok\n[+]mine ok\n[+]poststarthook/one ok\n[+]poststarthook/two ok\n[+]shutdown ok\nreadyz check passed\n"
	if got := get(p, "/readyz?verbose").Body.String(); got != want {
		t.Errorf("readyz: %s", got)
	}
	index := get(p, "/").Body.String()
	for _, path := range []string{`"/apis"`, `"/inner"`, `"/outer"`, `"/livez/poststarthook/one"`, `"/metrics"`, `"/version"`} {
		if !strings.Contains(index, path) {
			t.Errorf("the index does not list %s: %s", path, index)
		}
	}
}

func TestHealth(t *testing.T) {
	var broken atomic.Bool
	s := newTestServer(t, func(c *Config) { c.LivezGracePeriod = time.Hour })
	s.AddHealthChecks(healthz.NamedCheck("fragile", func() error {
		if broken.Load() {
			return errors.New("secret reason")
		}
		return nil
	}))
	release := make(chan struct{})
	s.AddPostStartHookOrDie("slow", func(HookContext) error { <-release; return nil })
	p := s.PrepareRun()
	run(t, p)
	defer func() { close(release) }()

	broken.Store(true)
	for _, c := range []struct {
		path string
		code int
		body string
	}{
		{"/livez/ping", 200, "ok"},
		{"/livez/fragile", 500, "internal server error: secret reason\n"},
		{"/livez", 500, "[+]ping ok\n[+]log ok\n[-]fragile failed: reason withheld\n[+]poststarthook/slow ok\nlivez check failed\n"},
		{"/livez?exclude=fragile", 200, "ok"},
		{"/livez?exclude=fragile&verbose", 200, "[+]ping ok\n[+]log ok\n[+]fragile excluded: ok\n[+]poststarthook/slow ok\nlivez check passed\n"},
		{"/livez?exclude=fragile&exclude=cat&verbose", 200, "[+]ping ok\n[+]log ok\n[+]fragile excluded: ok\n[+]poststarthook/slow ok\n" +
			"warn: some health checks cannot be excluded: no matches for \"cat\"\nlivez check passed\n"},
		{"/readyz?exclude=fragile", 500, "[+]ping ok\n[+]log ok\n[+]fragile excluded: ok\n[-]poststarthook/slow failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n"},
		{"/healthz/poststarthook/slow", 500, "internal server error: not finished\n"},
		{"/livez/cat", 404, "404 page not found\n"},
	} {
		w := get(p, c.path)
		if w.Code != c.code || w.Body.String() != c.body {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
		if ct := w.Header().Get("Content-Type"); ct != "text/plain; charset=utf-8" {
			t.Errorf("%s: content type %q", c.path, ct)
		}
	}
}

func TestHealthChecksAreExcludedWithTheirGroup(t *testing.T) {
	s := newTestServer(t, nil)
	fails := func() error { return errors.New("away") }
	s.AddHealthChecks(healthz.NamedCheck("store", fails), healthz.GroupedCheck("store", "store-of-events", fails), healthz.NamedCheck("other", func() error { return nil }))
	p := s.PrepareRun()
	run(t, p)
	for query, want := range map[string]string{
		"exclude=store":                         "[+]store excluded: ok\n[+]store-of-events excluded with store: ok\n[+]other ok\nlivez check passed\n",
		"exclude=store&exclude=store-of-events": "[+]store excluded: ok\n[+]store-of-events excluded: ok\n[+]other ok\nlivez check passed\n",
		"exclude=store-of-events":               "[-]store failed: reason withheld\n[+]store-of-events excluded: ok\n[+]other ok\nlivez check failed\n",
		"exclude=":                              "[-]store failed: reason withheld\n[-]store-of-events failed: reason withheld\n[+]other ok\nwarn: some health checks cannot be excluded: no matches for \"\"\nlivez check failed\n",
	} {
		want = "[+]ping ok\n[+]log ok\n" + want
		if got := get(p, "/livez?verbose&"+query).Body.String(); got != want {
			t.Errorf("%s: %s", query, got)
		}
	}
}

func TestHookThatFailsEndsTheServer(t *testing.T) {
	for name, hook := range map[string]PostStartHookFunc{
		"error": func(HookContext) error { return errors.New("no luck") },
		"panic": func(HookContext) error { panic("no luck") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t, nil)
			s.AddPostStartHookOrDie("unlucky", hook)
			err := s.PrepareRun().Run(context.Background())
			if err == nil || !strings.Contains(err.Error(), "unlucky") || !strings.Contains(err.Error(), "no luck") {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestShutdownOrder(t *testing.T) {
	s := newTestServer(t, func(c *Config) { c.ShutdownDelayDuration = 50 * time.Millisecond })
	events := make(chan string, 10)
	s.Handler.NonGoRestfulMux.HandleFunc("/slow", func(http.ResponseWriter, *http.Request) {
		events <- "slow begins"
		time.Sleep(150 * time.Millisecond)
		events <- "slow ends"
	})
	s.AddPostStartHookOrDie("worker", func(HookContext) error {
		s.Go(func(ctx context.Context) {
			<-ctx.Done()
			events <- "worker ends"
		})
		return nil
	})
	p := s.PrepareRun()
	if err := s.AddPreShutdownHook("last words", func() error {
		if get(p, "/readyz").Code != 500 || get(p, "/livez").Code != 200 {
			t.Error("before the shutdown the server must be live and not ready")
		}
		events <- "hook"
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	stop := run(t, p)
	eventually(t, "readiness", func() bool { return get(p, "/readyz").Code == 200 })
	go get(p, "/slow")
	if e := <-events; e != "slow begins" {
		t.Fatal(e)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	close(events)
	var got []string
	for e := range events {
		got = append(got, e)
	}
	if want := []string{"hook", "slow ends", "worker ends"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if w := get(p, "/livez"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a request after the end: %d", w.Code)
	}
	s.Go(func(context.Context) { t.Error("a goroutine was started after the end") })
}

func TestLoopback(t *testing.T) {
	s := newTestServer(t, nil)
	cancelled := make(chan struct{})
	mux := s.Handler.NonGoRestfulMux
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		u := request.UserFrom(r.Context())
		fmt.Fprintf(w, "%s %v", u.Name, u.InGroup(user.SystemPrivileged))
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Sent", "before")
		w.WriteHeader(http.StatusTeapot)
		w.Header().Set("X-Sent", "after")
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		for i := range 3 {
			fmt.Fprintln(w, i)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
		close(cancelled)
	})
	mux.HandleFunc("/panic", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		panic(http.ErrAbortHandler)
	})
	client := &http.Client{Transport: s.LoopbackClientConfig.Transport}
	const base = "http://loopback.invalid"

	early, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	r, _ := http.NewRequestWithContext(early, http.MethodGet, base+"/who", nil)
	if _, err := client.Do(r); !errors.Is(err, context.DeadlineExceeded) { //nolint:bodyclose // there is no answer
		t.Errorf("before the server is prepared: %v", err)
	}
	p := s.PrepareRun()
	run(t, p)

	resp, err := client.Get(base + "/who")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != "system:apiserver true" {
		t.Errorf("who: %s", b)
	}
	resp.Body.Close()
	if got := get(p, "/who").Body.String(); got != "system:anonymous false" {
		t.Errorf("from outside: %s", got)
	}

	big := strings.Repeat("x", 1<<20)
	resp, err = client.Post(base+"/echo", "text/plain", strings.NewReader(big))
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(resp.Body); string(b) != big || resp.StatusCode != http.StatusTeapot || resp.Header.Get("X-Sent") != "before" {
		t.Errorf("echo: %d bytes, %d, %v", len(b), resp.StatusCode, resp.Header)
	}
	resp.Body.Close()

	resp, err = client.Get(base + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(resp.Body)
	for i := range 3 {
		if !lines.Scan() || lines.Text() != fmt.Sprint(i) {
			t.Fatalf("line %d: %q", i, lines.Text())
		}
	}
	resp.Body.Close()
	<-cancelled

	resp, err = client.Get(base + "/panic")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("an aborted answer looks whole: %q", b)
	}
	resp.Body.Close()
}

func TestVersion(t *testing.T) {
	p := newTestServer(t, nil).PrepareRun()
	run(t, p)
	for _, path := range []string{"/version", "/version/"} {
		if w := get(p, path); w.Code != 200 || !strings.Contains(w.Body.String(), `"gitVersion": "v1.37.2"`) ||
			!strings.Contains(w.Body.String(), `"gitCommit": "triplane-`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := get(p, "/metrics"); !strings.Contains(w.Body.String(), `kubernetes_build_info{`) {
		t.Error("/metrics has no build information")
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/version", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("HEAD: %d", w.Code)
	}
}

// DELETE sets the metrics back.
func TestMetricsReset(t *testing.T) {
	c := NewConfig()
	counted := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "counted_total"}, []string{"of"})
	c.Metrics.MustRegister(counted)
	s, err := c.Complete().New("test", EmptyDelegate())
	if err != nil {
		t.Fatal(err)
	}
	p := s.PrepareRun()
	run(t, p)
	counted.WithLabelValues("a").Inc()
	const series = `counted_total{of="a"} 1`
	if w := get(p, "/metrics"); !strings.Contains(w.Body.String(), series) {
		t.Fatal("it is not counted")
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodDelete, "/metrics", nil))
	if w.Code != 200 || w.Body.String() != "metrics reset\n" {
		t.Errorf("DELETE: %d %s", w.Code, w.Body)
	}
	if w := get(p, "/metrics"); strings.Contains(w.Body.String(), "counted_total{") {
		t.Error("it is counted still")
	}
}

func BenchmarkLoopback(b *testing.B) {
	c := NewConfig()
	s, _ := c.Complete().New("bench", EmptyDelegate())
	s.Handler.NonGoRestfulMux.Handle("/x", says("x"))
	s.PrepareRun()
	client := &http.Client{Transport: s.LoopbackClientConfig.Transport}
	b.ReportAllocs()
	for b.Loop() {
		resp, err := client.Get("http://loopback.invalid/x")
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func says(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}
