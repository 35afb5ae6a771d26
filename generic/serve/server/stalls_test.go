package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/flowcontrol"
	"triplane.dev/generic/serve/secureserving"
	"triplane.dev/internal/worker"
)

// seats returns flow control with one level for all users, with queues.
func seats(n int) *flowcontrol.Controller {
	all := []string{"*"}
	return flowcontrol.New(flowcontrol.Config{
		Reads: n,
		Schemas: []*flowv1.FlowSchema{{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: flowv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowv1.PriorityLevelConfigurationReference{Name: "all"},
			DistinguisherMethod:        &flowv1.FlowDistinguisherMethod{Type: flowv1.FlowDistinguisherMethodByUserType},
			Rules: []flowv1.PolicyRulesWithSubjects{{
				Subjects:         []flowv1.Subject{{Kind: flowv1.SubjectKindGroup, Group: &flowv1.GroupSubject{Name: "*"}}},
				ResourceRules:    []flowv1.ResourcePolicyRule{{Verbs: all, APIGroups: all, Resources: all, ClusterScope: true, Namespaces: all}},
				NonResourceRules: []flowv1.NonResourcePolicyRule{{Verbs: all, NonResourceURLs: all}},
			}},
		}}},
		Levels: []*flowv1.PriorityLevelConfiguration{{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: flowv1.PriorityLevelConfigurationSpec{
			Type: flowv1.PriorityLevelEnablementLimited, Limited: &flowv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: ptr.To[int32](1),
				LimitResponse: flowv1.LimitResponse{Type: flowv1.LimitResponseTypeQueue,
					Queuing: &flowv1.QueuingConfiguration{Queues: 64, HandSize: 6, QueueLengthLimit: 50}},
			}}}},
	})
}

// named makes each token authenticate as the user of that name.
func named(c *Config) {
	c.Authentication = authentication.RequestFunc(func(r *http.Request) (*authentication.Response, error) {
		name := authentication.BearerToken(r.Header.Get("Authorization"))
		return &authentication.Response{User: &user.Info{Name: name, Groups: []string{"*"}}}, nil
	})
}

// rawClient sends arbitrary HTTP/2 frames.
type rawClient struct {
	conn   *tls.Conn
	framer *http2.Framer
	next   uint32
	frames chan http2.FrameHeader // closed when the server closes the connection
	data   atomic.Int64
}

func dialRaw(t *testing.T, address string, window uint32) *rawClient {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &rawClient{conn: conn, framer: http2.NewFramer(conn, conn), next: 1, frames: make(chan http2.FrameHeader, 10_000)}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		t.Fatal(err)
	}
	worker.Go(func() {
		defer close(c.frames)
		for {
			f, err := c.framer.ReadFrame()
			if err != nil {
				return
			}
			if d, ok := f.(*http2.DataFrame); ok {
				c.data.Add(int64(len(d.Data())))
			}
			select {
			case c.frames <- f.Header():
			default: // nobody looks
			}
		}
	})
	return c
}

func (c *rawClient) get(path, name string) error {
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	for _, f := range [][2]string{{":method", "GET"}, {":path", path}, {":scheme", "https"}, {":authority", "x"}, {"authorization", "Bearer " + name}} {
		if err := e.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
			return err
		}
	}
	id := c.next
	c.next += 2
	return c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
}

// closed reports whether the server closes the connection within a time.
func (c *rawClient) closed(within time.Duration) bool {
	over := time.After(within)
	for {
		select {
		case _, open := <-c.frames:
			if !open {
				return true
			}
		case <-over:
			return false
		}
	}
}

// Six connections with all permitted streams, none of which reads its response, do not block other clients of the
// level. (Previously they held all seats for a minute, and other requests got 429.)
func TestStalledStreamsHoldNoSeats(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 300_000)
	var asked atomic.Int64
	p, _, _ := serveTLS(t, func(c *Config, _ *secureserving.SecureServing) {
		named(c)
		c.FlowControl = seats(50)
	}, map[string]http.HandlerFunc{
		"/large": func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); w.Write(body) },
		"/small": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") },
	})
	address := p.Config().Serving.Address()
	for range 6 {
		c := dialRaw(t, address, 0)
		for range 100 {
			if err := c.get("/large", "mallory"); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "the attack", func() bool { return asked.Load() >= 50 })
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	var took []time.Duration
	failed := 0
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/small", nil)
		r.Header.Set("Authorization", "Bearer jane")
		resp, err := client.Do(r)
		if err != nil || resp.StatusCode != http.StatusOK {
			failed++
		}
		if err == nil {
			resp.Body.Close()
		}
		cancel()
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	t.Logf("%d of %d requests of another user fail; p50 %v, p99 %v, at most %v; %d of the attacker's ran",
		failed, len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1], asked.Load())
	if failed > 0 {
		t.Errorf("%d of %d requests of another user fail", failed, len(took))
	}
}

// A connection that reads nothing is closed, for large responses and for those that net/http buffers. It remains
// open if it reads something, if there is nothing to read, or if it serves data that people read slowly.
func TestStalledConnectionsAreClosed(t *testing.T) {
	const limit = 400 * time.Millisecond
	body := bytes.Repeat([]byte("x"), 300_000)
	write := func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }
	p, _, _ := serveTLS(t, func(c *Config, s *secureserving.SecureServing) {
		named(c)
		s.StalledLimit = limit
	}, map[string]http.HandlerFunc{
		"/large":                              write,
		"/api/v1/namespaces/a/pods/b/log":     write,
		"/small":                              func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") },
		"/api/v1/watch/namespaces/idle/pods":  idleWatch(""),
		"/api/v1/watch/namespaces/event/pods": idleWatch("an event"),
	})
	address := p.Config().Serving.Address()
	for _, c := range []struct {
		paths string
		ends  bool
	}{
		{"/large", true},
		{"/small", true},
		{"/api/v1/watch/namespaces/event/pods", true},
		{"/api/v1/watch/namespaces/idle/pods", false},
		{"/api/v1/namespaces/a/pods/b/log", false},
		{"/large /api/v1/namespaces/a/pods/b/log", false},
	} {
		t.Run(strings.TrimPrefix(c.paths, "/"), func(t *testing.T) {
			t.Parallel()
			client := dialRaw(t, address, 0)
			for path := range strings.FieldsSeq(c.paths) {
				if err := client.get(path, "mallory"); err != nil {
					t.Fatal(err)
				}
			}
			patience := 4 * limit
			if c.ends {
				patience = 30 * time.Second
			}
			if closed := client.closed(patience); closed != c.ends {
				t.Errorf("closed: %v", closed)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		t.Parallel()
		client := dialRaw(t, address, 0)
		if err := client.get("/large", "jane"); err != nil {
			t.Fatal(err)
		}
		// One frame is read in a quarter of the limit; the whole body takes several limits.
		for client.data.Load() < int64(len(body)) {
			for _, id := range []uint32{0, 1} {
				if err := client.framer.WriteWindowUpdate(id, 16<<10); err != nil {
					t.Fatalf("after %d bytes: %v", client.data.Load(), err)
				}
			}
			if client.closed(limit / 4) {
				t.Fatalf("closed after %d bytes", client.data.Load())
			}
		}
	})
}

// idleWatch writes its header and optionally an event, and waits until the client disconnects.
func idleWatch(event string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, event)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}
}
