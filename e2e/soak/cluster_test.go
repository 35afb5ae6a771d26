package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// startTrio starts three servers that are one cluster.
func startTrio(t *testing.T) *harness.Cluster {
	t.Helper()
	c := &harness.Cluster{}
	for _, name := range []string{"a", "b", "c"} {
		c.Join(t, name)
	}
	return c
}

// leads returns the member that leads, and the others.
func leads(t *testing.T, c *harness.Cluster) (leader *harness.Server, others []*harness.Server) {
	t.Helper()
	var names []string
	eventually(t, 30*time.Second, func() error {
		var err error
		if names, err = c.Members(t, "a", "leader"); err == nil && len(names) != 1 {
			err = fmt.Errorf("%v lead", names)
		}
		return err
	})
	for name, s := range c.Servers {
		if name != names[0] {
			others = append(others, s)
		}
	}
	return c.Servers[names[0]], others
}

// TestLeaderLost kills the leader of a cluster, or suspends it, while clients of the others write.
func TestLeaderLost(t *testing.T) {
	const killed, hung = 1500 * time.Millisecond, 4 * time.Second
	n := 1
	if long() {
		n = 10
	}
	c := startTrio(t)
	for _, way := range []struct {
		name  string
		limit time.Duration
		leave func(*harness.Server)
		back  func(*harness.Server)
	}{
		{"was killed", killed, func(s *harness.Server) { s.Kill() }, func(s *harness.Server) { s.Restart(t) }},
		{"was suspended", hung, func(s *harness.Server) { s.Pause(t) },
			func(s *harness.Server) { s.Resume(t); s.WaitReady(t) }},
	} {
		var took []time.Duration
		failed := map[int]int{}
		for range n {
			leader, others := leads(t, c)
			took = append(took, whileWritten(t, others, func() { way.leave(leader) }, failed))
			way.back(leader)
		}
		slices.Sort(took)
		if most := took[len(took)-1]; most > way.limit {
			t.Errorf("the leader %s: writes stood still for up to %v, more than %v: %v", way.name, most, way.limit, took)
		}
		for code := range failed {
			if code != http.StatusServiceUnavailable && code != http.StatusGatewayTimeout {
				t.Errorf("the leader %s: writes failed with %v", way.name, failed)
			}
		}
		note(t, fmt.Sprintf("at most %v; 503 and 504 until then", way.limit), "the leader %s %d times: writes at the others stood still for %v to %v, failures by code: %v",
			way.name, n, took[0].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond), failed)
	}
}

// whileWritten has clients write at servers, and returns after how long all had writes that were begun after an event.
// It counts in failed what is answered to those that fail.
func whileWritten(t *testing.T, servers []*harness.Server, event func(), failed map[int]int) time.Duration {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var since atomic.Pointer[time.Time]
	var longest time.Duration
	for _, s := range servers {
		maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
		all.Go(func() {
			for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "w-"}},
					metav1.CreateOptions{})
				cancel()
				lost := since.Load()
				mu.Lock()
				switch {
				case err != nil:
					failed[statusCode(err)]++
				case lost != nil && began.After(*lost):
					longest = max(longest, time.Since(*lost))
					mu.Unlock()
					return
				}
				mu.Unlock()
			}
			t.Errorf("no write at %s", s.Config.Host)
		})
	}
	time.Sleep(200 * time.Millisecond) // of writes before it
	event()
	at := time.Now()
	since.Store(&at)
	all.Wait()
	return longest
}

// TestClusterOverwrites overwrites large objects in a cluster whose members have just joined, and for which the leader
// keeps all writes for a while.
func TestClusterOverwrites(t *testing.T) {
	const limit, clients = 600, 4
	n := 120
	if long() {
		n = 1090
	}
	c := startTrio(t)
	leader, others := leads(t, c)
	highest := []func() int64{follow(t, leader)}
	for _, s := range others {
		highest = append(highest, follow(t, s))
	}
	began := time.Now()
	for i := range clients {
		if written := overwrite(t.Context(), c.Servers["a"].Config, fmt.Sprintf("large-%d", i), n/clients,
			1); written != int64(n/clients)*large {
			t.Errorf("%d bytes of %d were written", written, n/clients*large)
		}
	}
	took := time.Since(began)
	var most []int64
	for _, h := range highest {
		most = append(most, h()>>20)
	}
	bounded(t, slices.Max(most)<<20, limit)
	var left []string
	for _, name := range []string{"a", "b", "c"} {
		left = append(left, fmt.Sprintf("%s has %d MB, %d MB of them heap", name, c.Servers[name].AnonymousBytes()>>20,
			heap(t, c.Servers[name])>>20))
	}
	mended(t, "1,090 overwrites of 900 KB took a member to 1,700 MB", fmt.Sprintf("at most %d MB of memory", limit),
		"%d overwrites of 900 KB in %v took the leader to %d MB and the others to %d; after them %s", n,
		took.Round(time.Second), most[0], most[1:], strings.Join(left, ", "))
}

// heap is how many bytes a server has allocated.
func heap(t *testing.T, s *harness.Server) int64 {
	t.Helper()
	metrics, err := kubernetes.NewForConfigOrDie(s.Config).RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil {
		t.Fatal(err)
	}
	var bytes float64
	for line := range strings.Lines(string(metrics)) {
		if value, is := strings.CutPrefix(line, "go_memstats_heap_alloc_bytes "); is {
			_, _ = fmt.Sscan(value, &bytes)
		}
	}
	return int64(bytes)
}

// TestWithoutMajority reads and writes at the last member of three in each way that there is.
func TestWithoutMajority(t *testing.T) {
	const limit = 10 * time.Second
	c := startTrio(t)
	s := c.Servers["a"]
	if _, err := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default").Create(t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "there"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.Servers["b"].Kill()
	c.Servers["c"].Kill()
	client, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[int]int{}
	longest := time.Duration(0)
	rounds(t, 2, func(int) { // the first of them is proposed while the leader may be there yet
		var mu sync.Mutex
		var all sync.WaitGroup
		for _, r := range requestsOfAllKinds {
			all.Go(func() {
				began := time.Now()
				code, err := r.send(t.Context(), client, s.Config.Host)
				mu.Lock()
				defer mu.Unlock()
				codes[code]++
				longest = max(longest, time.Since(began))
				if err != nil || time.Since(began) > limit {
					t.Errorf("%s %s after %v: %v", r.method, r.path, time.Since(began), err)
				}
			})
		}
		all.Wait()
	})
	startsWithout(t, c, client)
	note(t, fmt.Sprintf("503 with Retry-After or 504, a Status, within %v", limit),
		"reads and writes without a majority: %d answers of 503, %d of 504, within %v", codes[503], codes[504], longest.Round(time.Millisecond))
}

// startsWithout starts the last member again: it responds with 503 until there is a majority, and serves then.
func startsWithout(t *testing.T, c *harness.Cluster, client *http.Client) {
	t.Helper()
	s := c.Servers["a"]
	s.Kill()
	s.Begin(t)
	client.CloseIdleConnections()
	eventually(t, 20*time.Second, func() error { // from when it listens on
		code, err := requestsOfAllKinds[0].send(t.Context(), client, s.Config.Host)
		if err == nil && code != http.StatusServiceUnavailable {
			t.Fatalf("a read while the server waits for the others: %d", code)
		}
		return err
	})
	for _, r := range requestsOfAllKinds {
		if code, err := r.send(t.Context(), client, s.Config.Host); err != nil ||
			code != http.StatusServiceUnavailable {
			t.Errorf("%s %s while the server waits for the others: %d, %v", r.method, r.path, code, err)
		}
	}
	c.Servers["b"].Begin(t)
	s.WaitReady(t)
}

type oneRequest struct{ method, path, kind, body string }

var requestsOfAllKinds = []oneRequest{
	{"GET", "configmaps/there", "", ""},
	{"GET", "configmaps", "", ""},
	{"POST", "configmaps", "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x-"}}`},
	{"PUT", "configmaps/there", "application/json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"},"data":{"a":"b"}}`},
	{"PATCH", "configmaps/there", "application/merge-patch+json", `{"data":{"a":"b"}}`},
	{"PATCH", "configmaps/there?fieldManager=x&force=true", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"there"},"data":{"a":"c"}}`},
	{"PATCH", "configmaps/new?fieldManager=x", "application/apply-patch+yaml", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"new"}}`},
	{"DELETE", "configmaps/there", "", ""},
	{"DELETE", "configmaps", "", ""},
}

// send sends it to the last member of a cluster, and returns what is wrong with how that responds.
func (r oneRequest) send(ctx context.Context, client *http.Client, host string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, host+"/api/v1/namespaces/default/"+r.path,
		strings.NewReader(r.body))
	if err != nil {
		return 0, err
	}
	if r.kind != "" {
		req.Header.Set("Content-Type", r.kind)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return 0, err
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil || status.Kind != "Status" ||
		int(status.Code) != resp.StatusCode {
		return resp.StatusCode, fmt.Errorf("%w, no Status of %d: %s", err, resp.StatusCode, body)
	}
	switch after := resp.Header.Get("Retry-After"); {
	case resp.StatusCode == http.StatusServiceUnavailable && after != "":
		return resp.StatusCode, nil
	case resp.StatusCode == http.StatusGatewayTimeout &&
		(r.method == http.MethodGet || after == ""): // a client would repeat a write
		return resp.StatusCode, nil
	default:
		return resp.StatusCode, fmt.Errorf("%d, Retry-After %q: %w", resp.StatusCode, after,
			apierrors.FromObject(&status))
	}
}
