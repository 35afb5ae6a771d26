package filters

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/serve/requestmetrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTokens authenticates each token as the user of that name.
var testTokens = authentication.TokenFunc(func(_ context.Context, token string) (*authentication.Response, error) {
	switch token {
	case "admin":
		return &authentication.Response{User: &user.Info{Name: "admin", Groups: []string{user.SystemPrivileged}}}, nil
	case "alice", "granted":
		return &authentication.Response{User: &user.Info{Name: token, UID: "1"}}, nil
	case "elsewhere":
		return &authentication.Response{User: &user.Info{Name: token}, Audiences: []string{"vault"}}, nil
	}
	return nil, nil
})

func testOptions() Options {
	return Options{
		AuthenticationOptions: AuthenticationOptions{
			Authentication: authentication.UnionFailFirst(
				authentication.AuthenticatedGroup(authentication.Bearer(testTokens)), authentication.Anonymous()),
			APIAudiences: []string{"api"},
		},
		AuthorizationOptions: AuthorizationOptions{Authorization: authorization.Union(authorization.SystemMasters(), granted{})},
		Settings:             within(time.Minute),
		Metrics:              requestmetrics.New(),
		WaitGroupOptions:     WaitGroupOptions{&WaitGroup{}},
	}
}

// within returns settings with only a deadline.
func within(timeout time.Duration) Settings {
	return Settings{DeadlineOptions: DeadlineOptions{RequestTimeout: timeout}}
}

// granted allows the user "granted" to impersonate jane, and jane to list pods.
type granted struct{}

func (granted) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.User.Name == "granted" && a.Verb == "impersonate" && a.Resource == "users" && a.Name == "jane",
		a.User.Name == "jane" && a.Resource == "pods":
		return authorizer.Allow, "", nil
	case a.Resource == "broken":
		return authorizer.NoOpinion, "", errors.New("cannot decide")
	case a.Resource == "reasons":
		return authorizer.NoOpinion, "because", nil
	}
	return authorizer.NoOpinion, "", nil
}

func serve(h http.Handler, method, url string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, url, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// echo responds with the user.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	request.AddWarning(r.Context(), `say "hi"`)
	u := request.UserFrom(r.Context())
	_ = json.NewEncoder(w).Encode(u)
})

func TestChainAnswers(t *testing.T) {
	const pods = "/api/v1/namespaces/n/pods"
	for _, c := range []struct {
		name, method, url string
		header            []string
		code              int
		body              string
	}{
		{"admin", "GET", pods, []string{"Authorization", "Bearer admin"}, 200, `"Name":"admin"`},
		{"wrong token", "GET", "/healthz", []string{"Authorization", "Bearer x"}, 401, `"message":"Unauthorized","reason":"Unauthorized","code":401}`},
		{"wrong audience", "GET", "/healthz", []string{"Authorization", "Bearer elsewhere"}, 401, `Unauthorized`},
		{"anonymous list", "GET", pods, nil, 403, `"message":"pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" in the namespace \"n\"","reason":"Forbidden","details":{"kind":"pods"},"code":403}`},
		{"anonymous get", "GET", "/apis/apps/v1/deployments/d", nil, 403, `deployments.apps \"d\" is forbidden: User \"system:anonymous\" cannot get resource \"deployments\" in API group \"apps\" at the cluster scope`},
		{"subresource", "GET", pods + "/p/log", nil, 403, `cannot get resource \"pods/log\"`},
		{"path", "OPTIONS", "/api", nil, 403, `"message":"forbidden: User \"system:anonymous\" cannot options path \"/api\"","reason":"Forbidden","details":{},"code":403}`},
		{"reason", "GET", "/api/v1/reasons", nil, 403, `at the cluster scope: because`},
		{"cannot decide", "GET", "/api/v1/broken", nil, 500, `Internal Server Error: "/api/v1/broken": cannot decide`},
		{"no resource", "GET", "/api/v1/watch", nil, 500, `Internal Server Error: "/api/v1/watch": failed to create RequestInfo: unable to determine kind and namespace from url, /api/v1/watch`},
		{"timeout", "GET", pods + "?timeout=10", []string{"Authorization", "Bearer admin"}, 400, `"message":"invalid timeout specified in the request URL - time: missing unit in duration \"10\"","reason":"BadRequest","code":400}`},
		{"timeout that has passed", "GET", pods + "?timeout=1ns", []string{"Authorization", "Bearer admin"}, 504, `"reason":"Timeout"`},
		{"timeout of a watch", "GET", pods + "?watch=1&timeout=x", []string{"Authorization", "Bearer admin"}, 200, `"Name":"admin"`},
		{"timeout 0", "GET", pods + "?timeout=0s", []string{"Authorization", "Bearer admin"}, 200, `"Name":"admin"`},

		{"impersonate", "GET", pods, []string{"Authorization", "Bearer admin", "Impersonate-User", "jane", "Impersonate-Group", "g", "Impersonate-Uid", "7", "Impersonate-Extra-A%2fB", "c"}, 200,
			`{"Name":"jane","UID":"7","Groups":["g","system:authenticated"],"Extra":{"a/b":["c"]}}`},
		{"impersonate a service account", "GET", "/x", []string{"Authorization", "Bearer admin", "Impersonate-User", "system:serviceaccount:n:s"}, 403,
			`User \"system:serviceaccount:n:s\" cannot get path`},
		{"impersonate nobody", "GET", "/x", []string{"Authorization", "Bearer alice", "Impersonate-Group", "g"}, 400,
			`"message":"requested \u0026user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"g\"}, Extra:map[string][]string(nil)} without impersonating a user name"`},
		{"may not impersonate", "GET", pods, []string{"Authorization", "Bearer alice", "Impersonate-User", "bob"}, 403,
			`pods is forbidden: User \"alice\" cannot impersonate-on:user-info:list resource \"pods\"`},
		{"may not impersonate a service account", "GET", pods, []string{"Authorization", "Bearer alice", "Impersonate-User", "system:serviceaccount:n:s"}, 403,
			`cannot impersonate-on:serviceaccount:list resource`},
		{"may not impersonate a node", "GET", "/healthz", []string{"Authorization", "Bearer alice", "Impersonate-User", "system:node:n"}, 403,
			`forbidden: User \"alice\" cannot impersonate-on:arbitrary-node:get path \"/healthz\"`},
		{"legacy permission", "GET", pods, []string{"Authorization", "Bearer granted", "Impersonate-User", "jane"}, 200, `"Name":"jane"`},
		{"legacy refusal, remembered mode", "GET", pods, []string{"Authorization", "Bearer granted", "Impersonate-User", "jim"}, 403,
			`users \"jim\" is forbidden: User \"granted\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope`},
		{"groups too", "GET", pods, []string{"Authorization", "Bearer granted", "Impersonate-User", "jane", "Impersonate-Extra-a", "b"}, 403,
			`userextras.authentication.k8s.io \"b\" is forbidden: User \"granted\" cannot impersonate resource \"userextras/a\" in API group \"authentication.k8s.io\"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := Chain(echo, testOptions())
			if strings.HasSuffix(c.name, "remembered mode") || c.name == "groups too" {
				serve(h, "GET", pods, "Authorization", "Bearer granted", "Impersonate-User", "jane")
			}
			w := serve(h, c.method, c.url, c.header...)
			if w.Code != c.code || !strings.Contains(w.Body.String(), c.body) {
				t.Errorf("got %d %s\nwant %d %s", w.Code, w.Body, c.code, c.body)
			}
			if w.Header().Get("Audit-Id") == "" || w.Header().Get("Cache-Control") != "no-cache, private" {
				t.Errorf("headers %v", w.Header())
			}
		})
	}
}

func TestWarningHeaders(t *testing.T) {
	w := serve(Chain(echo, testOptions()), "GET", "/x", "Authorization", "Bearer admin")
	if got := w.Header()["Warning"]; len(got) != 1 || got[0] != `299 - "say \"hi\""` {
		t.Errorf("warnings %q", got)
	}
	h := http.Header{}
	addWarnings(h, []string{strings.Repeat("a", 5000), "b\r\nc", strings.Repeat("d", 4096)})
	got := h["Warning"]
	if len(got) != 3 || len(got[0]) != 256+len(`299 - ""`) || got[1] != `299 - "b c"` {
		t.Errorf("%d warnings: %q", len(got), got)
	}
	for length, want := range map[int]int{250: 17, 256: 16} {
		h, many := http.Header{}, make([]string, 30)
		for i := range many {
			many[i] = strings.Repeat("a", length)
		}
		addWarnings(h, many)
		if got := len(h["Warning"]); got != want {
			t.Errorf("%d warnings of %d bytes, want %d", got, length, want)
		}
	}
}

func TestStatusForms(t *testing.T) {
	for _, c := range []struct{ accept, contentType, begins string }{
		{"", "application/json", `{"kind":"Status"`},
		{"text/plain", "application/json", "{\n  \"kind\": \"Status\""},
		{"application/cbor", "application/cbor", "\xd9\xd9\xf7"},
		{"application/json;as=Table;v=v1;g=meta.k8s.io,application/yaml", "application/yaml", "apiVersion: v1\ncode: 403\n"},
		{"application/vnd.kubernetes.protobuf, */*", "application/vnd.kubernetes.protobuf", "k8s\x00"},
	} {
		o := testOptions()
		o.CBOR = true
		w := serve(Chain(echo, o), "GET", "/x", "Accept", c.accept)
		if w.Header().Get("Content-Type") != c.contentType || !strings.HasPrefix(w.Body.String(), c.begins) {
			t.Errorf("%q: %s %q", c.accept, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

func TestPanics(t *testing.T) {
	h := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/begun":
			_, _ = io.WriteString(w, "part")
			panic("late")
		case "/abort":
			panic(http.ErrAbortHandler)
		}
		panic("early")
	}), Options{})
	w := serve(h, "GET", "/x")
	var s metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || w.Code != 500 || !strings.Contains(s.Message, "caused apiserver to panic") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/begun", "/abort"} {
		func() {
			defer func() {
				if recover() != http.ErrAbortHandler { //nolint:errorlint // it is that value
					t.Errorf("%s: the connection must be cut", path)
				}
			}()
			serve(h, "GET", path)
		}()
	}
}

func TestDeadline(t *testing.T) {
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), Options{Settings: within(time.Hour)})
	w := serve(h, "GET", "/api/v1/pods/p?timeout=1ms")
	if w.Code != 504 || !strings.Contains(w.Body.String(), `"reason":"Timeout"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h = Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, has := r.Context().Deadline(); has {
			t.Error("a watch has no deadline")
		}
	}), Options{Settings: within(time.Hour)})
	serve(h, "GET", "/api/v1/pods?watch=1")
}

func TestShutdown(t *testing.T) {
	terminating, g := make(chan struct{}), &WaitGroup{}
	entered := make(chan struct{}, 2)
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		entered <- struct{}{}
		<-r.Context().Done()
	}), Options{WaitGroupOptions: WaitGroupOptions{g}, TerminationOptions: TerminationOptions{terminating}, Settings: within(50 * time.Millisecond)})
	watch, get := make(chan struct{}), make(chan struct{})
	go func() { serve(h, "GET", "/api/v1/pods?watch=1"); close(watch) }()
	go func() { serve(h, "GET", "/api/v1/pods"); close(get) }()
	<-entered
	<-entered
	if g.Count() != 1 {
		t.Errorf("%d in flight", g.Count())
	}
	short, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := g.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waited for nobody: %v", err)
	}
	w := serve(h, "GET", "/api/v1/pods")
	if w.Code != 503 || w.Header().Get("Retry-After") != "1" || !strings.Contains(w.Body.String(), "apiserver is shutting down") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	<-get
	if err := g.Wait(context.Background()); err != nil {
		t.Error(err)
	}
	close(terminating)
	<-watch
}

func TestInFlightLimits(t *testing.T) {
	o := testOptions()
	o.Authorization, o.MaxRequestsInFlight, o.MaxMutatingRequestsInFlight = nil, 1, 1
	entered, leave := make(chan struct{}), make(chan struct{})
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/pods/slow" {
			entered <- struct{}{}
			<-leave
		}
	}), o)
	done := make(chan struct{})
	go func() { serve(h, "GET", "/api/v1/pods/slow"); close(done) }()
	<-entered
	w := serve(h, "GET", "/api/v1/pods")
	if w.Code != 429 || w.Header().Get("Retry-After") != "1" || w.Body.String() != "Too many requests, please try again later.\n" {
		t.Errorf("%d %v %q", w.Code, w.Header(), w.Body)
	}
	for _, c := range []struct{ method, token string }{{"POST", "alice"}, {"GET", "admin"}} {
		if w := serve(h, c.method, "/api/v1/pods", "Authorization", "Bearer "+c.token); w.Code != 200 {
			t.Errorf("%s as %s: %d", c.method, c.token, w.Code)
		}
	}
	if w := serve(h, "GET", "/api/v1/pods?watch=1"); w.Code != 200 {
		t.Errorf("watch: %d", w.Code)
	}
	close(leave)
	<-done
	if w := serve(h, "GET", "/api/v1/pods"); w.Code != 200 {
		t.Errorf("afterwards: %d", w.Code)
	}
}

func TestCORSAndHSTS(t *testing.T) {
	h := Chain(echo, Options{Settings: Settings{
		CORSOptions: CORSOptions{[]string{`//example\.com(:|$)`}}, HSTSOptions: HSTSOptions{[]string{"max-age=1", "preload"}},
	}})
	w := serve(h, "OPTIONS", "/x", "Origin", "https://example.com")
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://example.com" || w.Header().Get("Strict-Transport-Security") != "max-age=1; preload" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := serve(h, "GET", "/x", "Origin", "https://example.org"); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("another origin is let in: %v", w.Header())
	}
	if errs := (CORSOptions{[]string{"("}}).Validate(); len(errs) != 1 {
		t.Error("a broken pattern is taken")
	}
}

func TestCredentialsStayOutside(t *testing.T) {
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"Authorization", "X-Remote-User", "X-Remote-Extra-A", "Impersonate-User"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s is passed on", name)
			}
		}
		if r.Header.Get("X-Other") == "" {
			t.Error("a header is lost")
		}
	}), testOptions())
	serve(h, "GET", "/api/v1/pods", "Authorization", "Bearer admin", "X-Remote-User", "x", "X-Remote-Extra-A", "y", "X-Other", "z",
		"Impersonate-User", "admin", "Impersonate-Group", user.SystemPrivileged)
}

func TestUnknownClientsReconnect(t *testing.T) {
	h := Chain(echo, testOptions())
	for _, c := range []struct {
		token, want string
		major       int
	}{{"", "close", 2}, {"x", "close", 2}, {"admin", "", 2}, {"", "", 1}} {
		r := httptest.NewRequest(http.MethodGet, "/x", nil)
		r.ProtoMajor = c.major
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Connection"); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestAuditIDIsKept(t *testing.T) {
	long := strings.Repeat("x", 70)
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if id := request.StateFrom(r.Context()).AuditID(); id != long {
			t.Errorf("audit id %q", id)
		}
	}), Options{})
	if got := serve(h, "GET", "/x", "Audit-Id", long).Header().Get("Audit-Id"); got != long[:64] {
		t.Errorf("answered %q", got)
	}
	a, b := request.NewAuditID(), request.NewAuditID()
	if a == b || len(a) != 36 || a[14] != '4' {
		t.Errorf("ids %s %s", a, b)
	}
}

// Handlers see Flush and Hijack if the connection has them.
func TestWriterShapes(t *testing.T) {
	server := httptest.NewServer(Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n\r\nhello\n")
		_ = c.Close()
	}), Options{}))
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
	lines := bufio.NewScanner(c)
	for lines.Scan() && lines.Text() != "hello" {
	}
	if lines.Text() != "hello" {
		t.Error("the connection was not handed over")
	}
	h := Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		if _, can := w.(http.Hijacker); can {
			t.Error("nothing here can be hijacked")
		}
	}), Options{})
	if w := serve(h, "GET", "/x"); !w.Flushed || w.Header().Get("Cache-Control") == "" {
		t.Error("not flushed, or headers missed")
	}
}

func TestRequestMetrics(t *testing.T) {
	o := testOptions()
	h := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request.MarkServed(r.Context())
		echo.ServeHTTP(w, r)
	}), o)
	serve(h, "GET", "/api/v1/namespaces/n/pods", "Authorization", "Bearer admin")
	serve(h, "DELETE", "/api/v1/namespaces/n/pods/p?dryRun=All", "Authorization", "Bearer admin")
	serve(h, "GET", "/api/v1/namespaces/n/invented")
	families, err := o.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if f.GetName() != "apiserver_request_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetValue() != "" {
					labels = append(labels, l.GetName()+"="+l.GetValue())
				}
			}
			got = append(got, strings.Join(labels, ","))
		}
	}
	want := []string{
		"code=403,component=apiserver,verb=LIST",
		"code=200,component=apiserver,resource=pods,scope=namespace,verb=LIST,version=v1",
		"code=200,component=apiserver,dry_run=All,resource=pods,scope=resource,verb=DELETE,version=v1",
	}
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || g == w
		}
		if !found {
			t.Errorf("no %s in %q", w, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("series %q", got)
	}
}

type discard struct{ h http.Header }

func (d *discard) Header() http.Header         { return d.h }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func BenchmarkChain(b *testing.B) {
	h := Chain(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }), testOptions())
	r := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods/p", nil)
	authorization := []string{"Bearer admin"}
	w := &discard{h: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.h)
		r.Header["Authorization"] = authorization
		h.ServeHTTP(w, r)
	}
}

// Watches of the server's own clients do not end at termination.
func TestTerminationLeavesLoopback(t *testing.T) {
	terminating := make(chan struct{})
	close(terminating)
	h := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			t.Error("the watch ended")
		case <-time.After(20 * time.Millisecond): // in which an ended one would be seen
		}
	}), Options{TerminationOptions: TerminationOptions{terminating}, Settings: within(time.Hour)})
	r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?watch=1", nil)
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(authentication.WithLoopback(r.Context())))
}

// An exchange is allocated for each request: a larger one would need 128 bytes more.
func TestSizeOfExchange(t *testing.T) {
	if size := unsafe.Sizeof(exchange{}); size > 1272 {
		t.Errorf("an exchange has %d bytes, want 1272 at most: with the allocator's header a size class", size)
	}
}
