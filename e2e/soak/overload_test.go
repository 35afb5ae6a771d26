package soak

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// follow returns the highest memory of a server, in bytes, when stop is called.
func follow(t *testing.T, s *harness.Server) (stop func() int64) {
	ctx, cancel := context.WithCancel(t.Context())
	highest, done := int64(0), make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			highest = max(highest, s.AnonymousBytes())
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return func() int64 {
		cancel()
		<-done
		return highest
	}
}

// bounded fails the test where more memory was taken than is allowed.
func bounded(t *testing.T, bytes, megabytes int64) {
	t.Helper()
	if bytes == 0 || bytes > megabytes<<20 {
		t.Errorf("it took %d MB of memory, more than %d", bytes>>20, megabytes)
	}
}

// watch opens a watch of the config maps in a namespace that is read as fast as the caller does.
func watch(ctx context.Context, transport http.RoundTripper, config *rest.Config,
	namespace string) (*http.Response, error) {
	url := config.Host + "/api/v1/namespaces/" + namespace + "/configmaps?watch=1&resourceVersion=0"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("a watch: %s", resp.Status)
	}
	return resp, nil
}

// TestSlowReaders overwrites large objects while watches of them are open that nobody reads from.
func TestSlowReaders(t *testing.T) {
	const watches, limit = 20, 900
	s := harness.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transport, err := rest.TransportFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	for range watches {
		resp, err := watch(ctx, transport, s.Config, "kube-system")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	highest := follow(t, s)
	var written int64
	rounds(t, 1, func(round int) { written += overwrite(ctx, s.Config, fmt.Sprintf("l%d", round%4), 10, 1) })
	most := highest()
	bounded(t, most, limit)
	note(t, fmt.Sprintf("at most %d MB of memory, whatever was written", limit),
		"%d MB written beside %d watches that nobody reads; at most %d MB of memory", written>>20, watches, most>>20)
}

// TestLargeObjects has clients overwrite and read the same large objects.
func TestLargeObjects(t *testing.T) {
	const limit = 900
	s := harness.Start(t)
	highest := follow(t, s)
	var written, read atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("kube-system")
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for ctx.Err() == nil {
				if list, err := maps.List(ctx, metav1.ListOptions{}); err == nil {
					read.Add(int64(len(list.Items)) * large)
				}
			}
		})
	}
	rounds(t, 1, func(round int) { written.Add(overwrite(ctx, s.Config, fmt.Sprintf("l%d", round%4), 10, 4)) })
	cancel()
	readers.Wait()
	most := highest()
	bounded(t, most, limit)
	note(t, fmt.Sprintf("at most %d MB of memory, whatever was written", limit),
		"%d MB written by 4 clients and %d MB read by 2, in objects of %d KB; at most %d MB of memory", written.Load()>>20, read.Load()>>20, large/1000, most>>20)
}

// revisions finds what of an event tells it from others.
var revisions = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// TestWatchers has very many watches on few connections follow the same objects. Each gets each
// event, once and in order.
func TestWatchers(t *testing.T) {
	const limit = 600
	watches := 2000
	if long() {
		watches = 10_000
	}
	s := harness.Start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	transport, err := rest.TransportFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	highest := follow(t, s)
	const events = 10
	expected := make(chan []string) // closed when all that is expected is known
	var want []string
	var all, opening sync.WaitGroup
	var wrong atomic.Int64
	turns := make(chan struct{}, 100) // as many open at a time
	for range watches {
		opening.Add(1)
		all.Go(func() {
			turns <- struct{}{}
			resp, err := watch(ctx, transport, s.Config, "kube-public")
			<-turns
			opening.Done()
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			lines, got := bufio.NewScanner(resp.Body), make([]string, 0, events)
			for len(got) < events && lines.Scan() {
				if found := revisions.FindStringSubmatch(lines.Text()); found != nil {
					got = append(got, found[1])
				}
			}
			<-expected
			if strings.Join(got, " ") != strings.Join(want, " ") {
				wrong.Add(1)
			}
		})
	}
	opening.Wait()
	maps := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("kube-public")
	began := time.Now()
	c, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "watched"}},
		metav1.CreateOptions{})
	for i := 0; err == nil; i++ {
		if want = append(want, c.ResourceVersion); len(want) == events {
			break
		}
		c.Data = map[string]string{"v": strconv.Itoa(i)}
		c, err = maps.Update(ctx, c, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	close(expected)
	late := time.AfterFunc(time.Minute, cancel) // ends watches that got too little
	all.Wait()
	late.Stop()
	took, most := time.Since(began), highest()
	bounded(t, most, limit)
	if wrong.Load() > 0 {
		t.Errorf("%d watches did not get what happened", wrong.Load())
	}
	note(t, fmt.Sprintf("at most %d MB of memory; no event is missed, invented, repeated or out of order", limit),
		"%d watches got %d events in %v; %d MB of memory, %d KB a watch", watches, watches*events, took.Round(time.Millisecond), most>>20, most>>10/int64(watches))
}
