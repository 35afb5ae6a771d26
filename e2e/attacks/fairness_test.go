package attacks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// One user lists everything, again and again, on 16 connections. The attacker, who
// need be no more than a careless controller, would make everybody else wait: a
// get took 342 ms instead of one.
func TestOneUserFloods(t *testing.T) {
	s := start(t, "--max-requests-inflight=8", "--max-mutating-requests-inflight=4")
	s.Kubectl(t, "create", "clusterrolebinding", "readers", "--clusterrole=cluster-admin",
		"--serviceaccount=default:flood", "--serviceaccount=default:light")
	s.fill(2000)
	light := s.user("light")
	s.eventually("the user may read", 10*time.Second,
		func() bool { return get(t.Context(), light, "/api/v1/configmaps?limit=1") == http.StatusOK })
	quiet, _ := s.p99(light)
	ctx, stop := context.WithCancel(t.Context())
	flood := make(chan struct{})
	for range 16 {
		client := s.user("flood")
		go func() {
			defer func() { flood <- struct{}{} }()
			for ctx.Err() == nil {
				get(ctx, client, "/api/v1/configmaps")
			}
		}()
	}
	s.eventually("the flood has begun", 20*time.Second, func() bool {
		dump := s.get("/debug/api_priority_and_fairness/dump_requests")
		return strings.Count(dump, "default:flood") >= 8
	})
	loaded, exempt := s.p99(light)
	stop()
	for range 16 {
		<-flood
	}
	t.Logf("p99 of a get: %v, %v under the flood, and %v of what waits for nobody", quiet, loaded, exempt)
	// Clients share the processors with the server, and others with both: the wait for
	// a processor is a part of it, which what is exempt from queues has as well. What
	// must not come is the wait for the flood.
	if loaded > max(3*quiet, 3*exempt, 150*time.Millisecond) {
		t.Errorf("p99 of a get was %v and is %v, that of what is exempt %v", quiet, loaded, exempt)
	}
}

// fill makes so many config maps of 2 KB.
func (s *target) fill(n int) {
	s.t.Helper()
	client := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default")
	data := map[string]string{"k": strings.Repeat("v", 2000)}
	errs := make(chan error)
	for w := range 8 {
		go func() {
			for i := w; i < n; i += 8 {
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("m", i)}, Data: data}
				if _, err := client.Create(s.t.Context(), m, metav1.CreateOptions{}); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	for range 8 {
		if err := <-errs; err != nil {
			s.t.Fatal(err)
		}
	}
}

// client is a user's, with a connection of its own.
type client struct {
	*http.Client
	host string
}

// user is a client of a service account.
func (s *target) user(name string) client {
	s.t.Helper()
	config := rest.AnonymousClientConfig(s.Config)
	config.BearerToken = s.token(name)
	config.Proxy = http.ProxyFromEnvironment // its own transport
	transport, err := rest.TransportFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	return client{&http.Client{Transport: transport}, s.Config.Host}
}

func get(ctx context.Context, c client, path string) (code int) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host+path, nil)
	if err != nil {
		return 0
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

// p99 of a user's gets, and of as many by the administrator, who is exempt from
// priority and fairness; one after the other.
func (s *target) p99(c client) (limited, exempt time.Duration) {
	s.t.Helper()
	admin := client{s.admin, s.Config.Host}
	var took [2][]time.Duration
	for i := range 600 {
		begun := time.Now()
		if code := get(s.t.Context(), []client{c, admin}[i%2],
			"/api/v1/namespaces/default/configmaps/m1"); code != http.StatusOK {
			s.t.Fatalf("a get is answered %d", code)
		}
		took[i%2] = append(took[i%2], time.Since(begun))
	}
	at99 := func(d []time.Duration) time.Duration {
		slices.Sort(d)
		return d[len(d)*99/100]
	}
	return at99(took[0]), at99(took[1])
}
