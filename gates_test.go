package triplane

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	restclient "k8s.io/client-go/rest"
)

// startWith starts a server with flags.
func startWith(t *testing.T, flags ...string) *Server {
	t.Helper()
	o, err := Parse("", append([]string{"--data-dir", t.TempDir(), "--secure-port=0", "--controllers=none"}, flags...), nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Stop() })
	return s
}

// With the feature gate, scrapers that accept protobuf get native buckets; others get the same as before.
func TestNativeHistograms(t *testing.T) {
	const family = "apiserver_request_duration_seconds"
	for flag, want := range map[string]bool{"--feature-gates=NativeHistograms=true": true, "--feature-gates=NativeHistograms=false": false} {
		s := startWith(t, flag)
		c := client(t, s).CoreV1().RESTClient()
		if err := c.Get().AbsPath("/api").Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
		if h := scrape(t, c)[family].GetMetric()[0].GetHistogram(); h.Schema != nil || len(h.GetBucket()) == 0 {
			t.Errorf("%s: as text it is %v", flag, h)
		}
		if h := scrapeProtobuf(t, s)[family].GetMetric()[0].GetHistogram(); (h.Schema != nil) != want || len(h.GetBucket()) == 0 {
			t.Errorf("%s: as protobuf it is %v", flag, h)
		}
	}
}

// scrapeProtobuf scrapes like Prometheus with native histograms.
func scrapeProtobuf(t *testing.T, s *Server) map[string]*dto.MetricFamily {
	t.Helper()
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := restclient.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); !strings.Contains(got, "protobuf") {
		t.Fatalf("the answer is %s", got)
	}
	decoder, families := expfmt.NewDecoder(answer.Body, expfmt.NewFormat(expfmt.TypeProtoDelim)), map[string]*dto.MetricFamily{}
	for {
		var f dto.MetricFamily
		if err := decoder.Decode(&f); errors.Is(err, io.EOF) {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
}
