package triplane

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	restclient "k8s.io/client-go/rest"
)

// receiver receives spans like an OTLP collector.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []*tracev1.Span
}

// Export implements collector.TraceServiceServer.
func (r *receiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range req.ResourceSpans {
		for _, by := range of.ScopeSpans {
			r.spans = append(r.spans, by.Spans...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// find returns the first span with a name in a trace; "" is any.
func (r *receiver) find(name, trace string) *tracev1.Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name && (trace == "" || hex.EncodeToString(s.TraceId) == trace) {
			return s
		}
	}
	return nil
}

// startTraced starts a server with a sampling rate.
func startTraced(t *testing.T, perMillion int) (*Server, *receiver) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, s := &receiver{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(s, r)
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Stop()
		served.Wait()
	})
	o := testOptions(t.TempDir())
	o.Tracing.ConfigFile = filepath.Join(t.TempDir(), "tracing.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: %d\n", l.Addr(), perMillion)
	if err := os.WriteFile(o.Tracing.ConfigFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	return server, r
}

const configMapsSpan = "POST /api/v1/namespaces/{:namespace}/configmaps"

func TestSpansOfRequests(t *testing.T) {
	s, spans := startTraced(t, 1000000)
	c := client(t, s)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	if _, err := c.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.CoreV1().ConfigMaps("default").Get(t.Context(), "c", metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil { // the last spans are flushed
		t.Fatal(err)
	}
	read := spans.find("GET /api/v1/namespaces/{:namespace}/configmaps/{:name}", "")
	if read == nil || spans.find("etcd revision", hex.EncodeToString(read.TraceId)) == nil {
		t.Errorf("the read is %v", read)
	}
	request := spans.find(configMapsSpan, "")
	if request == nil {
		t.Fatal("the request has no span")
	}
	write := spans.find("etcd create", hex.EncodeToString(request.TraceId))
	if write == nil || string(write.ParentSpanId) != string(request.SpanId) {
		t.Errorf("the write is %v, below %v", write, request)
	}
}

// TestTracesAreContinued sends requests of an administrator and of an anonymous user in a trace.
func TestTracesAreContinued(t *testing.T) {
	s, spans := startTraced(t, 0)
	config, err := s.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	const admins, nobodys = "0af7651916cd43dd8448eb211c80319c", "4bf92f3577b34da6a3ce929d0e0e4736"
	ask := func(trace string, anonymous bool) {
		t.Helper()
		c := config
		if anonymous {
			c = restclient.AnonymousClientConfig(config)
		}
		client, err := restclient.HTTPClientFor(c)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Host+"/version", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Traceparent", "00-"+trace+"-b7ad6b7169203331-01")
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s", resp.Status)
		}
	}
	ask(admins, false)
	ask(nobodys, true)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if spans.find("GET", admins) == nil {
		t.Error("the administrator's trace is not continued")
	}
	if spans.find("GET", nobodys) != nil || len(spans.spans) != 1 {
		t.Errorf("anybody's requests are traced: %v", spans.spans)
	}
}
