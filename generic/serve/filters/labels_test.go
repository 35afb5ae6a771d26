package filters

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/requestmetrics"
)

// hostile returns a request with random names.
func hostile(random *rand.Rand) *http.Request {
	word := func() string {
		return strings.Repeat(string(rune('a'+random.IntN(26))), 1+random.IntN(300)) + fmt.Sprint(random.Uint32())
	}
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", word()}
	path := "/apis/" + word() + "/" + word() + "/namespaces/" + word() + "/" + word() + "/" + word() + "/" + word()
	switch random.IntN(5) {
	case 0:
		path = "/api/v1/" + word()
	case 1:
		path = "/" + word()
	case 2:
		path = "/api/v1/watch/" + word()
	}
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Method = methods[random.IntN(len(methods))]
	r.URL.RawQuery = []string{"", "watch=1", "dryRun=All", "limit=" + word(), "timeout=" + word(), "timeout=1ns"}[random.IntN(6)]
	r.Header.Set("User-Agent", word())
	r.Header.Set("Authorization", "Bearer "+[]string{"wrong", "alice", "admin", "granted"}[random.IntN(4)])
	return r
}

// size returns the number of series of the server's metrics, and their bytes.
func size(t *testing.T, m *requestmetrics.Metrics) (series, bytes int) {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		series += len(f.Metric)
		bytes += len(f.String())
	}
	return series, bytes
}

// Unknown resources do not add series: 20,000 requests leave as many as one round of all kinds of requests.
// no more than those of one round over all that a request may be.
func TestHostileRequestsMakeNoSeries(t *testing.T) {
	o := testOptions()
	chain := Chain(http.NotFoundHandler(), o)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		chain.ServeHTTP(httptest.NewRecorder(), hostile(random))
	}
	before, bytesBefore := size(t, o.Metrics)
	for range 20000 {
		chain.ServeHTTP(httptest.NewRecorder(), hostile(random))
	}
	after, bytesAfter := size(t, o.Metrics)
	if after > before+10 || after > 400 || bytesAfter > bytesBefore+20_000 {
		t.Errorf("%d series of %d bytes became %d of %d bytes", before, bytesBefore, after, bytesAfter)
	}
}

// A remote server that serves any resource adds neither long labels nor more series than the bound.
func TestAnswersToAnythingMakeBoundedSeries(t *testing.T) {
	o := testOptions()
	chain := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { request.MarkServed(r.Context()) }), o)
	long := strings.Repeat("r", 64)
	for _, path := range []string{"/api/v1/" + long, "/apis/" + strings.Repeat("g", 254) + "/v1/things", "/api/v1/nodes/n/" + long, "/api/v1/pods?watch=1&x=" + long, "/api/v1/" + long + "?watch=1"} {
		serve(chain, "GET", path, "Authorization", "Bearer admin")
	}
	families, err := o.Metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if text := f.String(); strings.Contains(text, long) || strings.Contains(text, "ggg") {
			t.Errorf("%s has labels that are too long", f.GetName())
		}
	}
}

// FuzzLabels sends arbitrary requests to a server without resources. Their values do not become labels, and the
// number of series does not grow.
func FuzzLabels(f *testing.F) {
	for _, seed := range [][5]string{
		{"GET", "/api/v1/namespaces/n/pods/p/log", "watch=1", "agent", "admin"}, {"POST", "/apis/g/v/r", "dryRun=All&fieldValidation=Strict", "kube-scheduler/v1", "alice"},
		{"BREW", "/apis/g/v/watch/namespaces//r//s", "timeout=x", "", "wrong"}, {"PATCH", "//api//v1/./proxy/nodes/n/", "fieldValidation=%00", "kube-controller-manager", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], seed[4])
	}
	o := testOptions()
	chain := Chain(http.NotFoundHandler(), o)
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		chain.ServeHTTP(httptest.NewRecorder(), hostile(random))
	}
	f.Fuzz(func(t *testing.T, method, path, query, agent, token string) {
		const mark = "mark7f3a"
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Method, r.URL.Path, r.URL.RawQuery = method, strings.ReplaceAll(path, "x", mark), strings.ReplaceAll(query, "x", mark)
		r.Header = http.Header{"User-Agent": {agent + mark}, "Authorization": {"Bearer " + token}}
		chain.ServeHTTP(httptest.NewRecorder(), r)
		families, err := o.Metrics.Gather()
		if err != nil {
			t.Fatal(err)
		}
		series := 0
		for _, family := range families {
			series += len(family.Metric)
			if strings.Contains(family.String(), mark) {
				t.Fatalf("%s has a label of the request's own", family.GetName())
			}
		}
		if series > 400 {
			t.Fatalf("there are %d series", series)
		}
	})
}
