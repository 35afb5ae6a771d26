package backend

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/guard/audit"
)

// receiver responds with each code in turn, and from then on with the last one. It sends the bodies to a
// channel.
func receiver(t *testing.T, codes ...int) (kubeconfig string, bodies chan string) {
	t.Helper()
	bodies = make(chan string, 100)
	answers := make(chan int, len(codes))
	for _, c := range codes {
		answers <- c
	}
	last := codes[len(codes)-1]
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/audit" {
			t.Errorf("%v %s %s", err, r.Method, r.URL)
		}
		bodies <- string(body)
		code := last
		select {
		case code = <-answers:
		default:
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %s/audit}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n", s.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, bodies
}

func TestWebhook(t *testing.T) {
	for name, c := range map[string]struct {
		codes    []int
		requests int
		stored   bool
	}{
		"taken":        {[]int{200}, 1, true},
		"again":        {[]int{500, 429, 503, 200}, 4, true},
		"refused":      {[]int{400}, 5, false},
		"always fails": {[]int{500}, 5, false},
	} {
		m := metrics.New()
		kubeconfig, bodies := receiver(t, c.codes...)
		w, err := NewWebhook(kubeconfig, nil, time.Millisecond, audit.NewMetrics(m))
		if err != nil {
			t.Fatal(err)
		}
		if stored := w.Process(event("1"), event("2")); stored != c.stored {
			t.Errorf("%s: stored %v", name, stored)
		}
		if len(bodies) != c.requests {
			t.Errorf("%s: %d requests", name, len(bodies))
		}
		if got := <-bodies; !strings.HasPrefix(got, `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[{"level":"","auditID":"1"`) {
			t.Errorf("%s: %s", name, got)
		}
		if lost := failed(t, m, "webhook"); (lost == 0) != c.stored {
			t.Errorf("%s: %v are lost", name, lost)
		}
		w.Close(context.Background())
	}
}

func TestWebhookIsFlushed(t *testing.T) {
	kubeconfig, bodies := receiver(t, 200)
	w, err := NewWebhook(kubeconfig, nil, time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBatch(w, BatchConfig{BufferSize: 10, MaxSize: 2, MaxWait: time.Hour, Parallel: 2}, nil)
	b.Process(event("1"), event("2"), event("3"))
	b.Close(context.Background())
	sizes := []int{strings.Count(<-bodies, "auditID"), strings.Count(<-bodies, "auditID")}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{1, 2}) {
		t.Errorf("batches of %v", sizes)
	}
}

func TestWebhookGivesUpAtTheEnd(t *testing.T) {
	kubeconfig, bodies := receiver(t, 500)
	w, err := NewWebhook(kubeconfig, nil, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	b := NewBatch(w, BatchConfig{BufferSize: 10, MaxSize: 1}, nil)
	b.Process(event("1"))
	<-bodies // now it pauses for an hour
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b.Close(ctx)
}

func TestWebhookWithoutKubeconfig(t *testing.T) {
	if _, err := NewWebhook(filepath.Join(t.TempDir(), "none"), nil, 0, nil); err == nil {
		t.Error("no error")
	}
}
