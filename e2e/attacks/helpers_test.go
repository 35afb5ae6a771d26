package attacks

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"k8s.io/client-go/rest"

	"triplane.dev/e2e/harness"
)

// target is a server under attack.
type target struct {
	*harness.Server
	t       *testing.T
	address string
	admin   *http.Client
}

func start(t *testing.T, args ...string) *target {
	s := harness.Start(t, args...)
	admin, err := rest.HTTPClientFor(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &target{s, t, strings.TrimPrefix(s.Config.Host, "https://"), admin}
}

// connect opens a TLS connection of an attacker without credentials.
func (s *target) connect(protocol string) *tls.Conn {
	s.t.Helper()
	c, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}) //nolint:gosec // the attacker does not care
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// get returns the body of an answer to the administrator.
func (s *target) get(path string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Config.Host+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := s.admin.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// ask sends a raw HTTP/1 request on a connection of its own and returns the
// answer, or the error in its place.
func (s *target) ask(request string, patience time.Duration) (code int, body string, err error) {
	c := s.connect("http/1.1")
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return 0, "", err
	}
	if _, err := io.WriteString(c, request); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// generous is the patience for what has to come, on a machine that may be busy.
const generous = 30 * time.Second

// eventually waits until the condition holds.
func (s *target) eventually(what string, within time.Duration, holds func() bool) {
	s.t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// token is that of a service account, which is made where it is not there.
func (s *target) token(name string) string {
	s.t.Helper()
	_, _ = s.TryKubectl(s.t, "", "create", "serviceaccount", name) // it may be there
	return strings.TrimSpace(s.Kubectl(s.t, "create", "token", name))
}

// writer is the token of a service account that may write.
func (s *target) writer() string {
	s.t.Helper()
	token := s.token("writer")
	s.Kubectl(s.t, "create", "clusterrolebinding", "writer", "--clusterrole=cluster-admin",
		"--serviceaccount=default:writer")
	s.eventually("the writer may write", 10*time.Second, func() bool {
		code, _, err := s.ask("GET /api/v1/namespaces/default/configmaps HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\n\r\n", 5*time.Second)
		return err == nil && code == http.StatusOK
	})
	return token
}

// inFlight is how many requests the server says it answers, without that one
// which asks.
func (s *target) inFlight() int {
	s.t.Helper()
	body := s.get("/metrics")
	sum := 0
	for line := range strings.Lines(body) {
		var n int
		if name, value, ok := strings.Cut(line, "} "); ok &&
			strings.HasPrefix(name, "apiserver_current_inflight_requests") {
			if _, err := fmt.Sscan(value, &n); err != nil {
				s.t.Fatal(err)
			}
			sum += n
		}
	}
	return sum - 1
}

// stalled is how many requests the server says wait for their clients.
func (s *target) stalled() int {
	s.t.Helper()
	for line := range strings.Lines(s.get("/metrics")) {
		var n int
		if value, ok := strings.CutPrefix(line, "triplane_stalled_requests "); ok {
			if _, err := fmt.Sscan(value, &n); err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	s.t.Fatal("/metrics has no stalled requests")
	return 0
}

// heap is how many bytes the server has allocated and not let go.
func (s *target) heap() int64 {
	s.t.Helper()
	for line := range strings.Lines(s.get("/metrics")) {
		var n float64
		if value, ok := strings.CutPrefix(line, "go_memstats_heap_alloc_bytes "); ok {
			if _, err := fmt.Sscan(value, &n); err != nil {
				s.t.Fatal(err)
			}
			return int64(n)
		}
	}
	s.t.Fatal("/metrics has no size of the heap")
	return 0
}

// streams opens HTTP/2 streams of requests on a connection whose client gives no
// window for answers.
type streams struct {
	conn   net.Conn
	framer *http2.Framer
	next   uint32
}

func (s *target) streams(window uint32) *streams {
	s.t.Helper()
	c := s.connect("h2")
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		s.t.Fatal(err)
	}
	f := http2.NewFramer(c, c)
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}); err != nil {
		s.t.Fatal(err)
	}
	return &streams{c, f, 1}
}

// open sends the head of a request.
func (x *streams) open(method, path string, end bool, header ...string) error {
	var block strings.Builder
	e := hpack.NewEncoder(&block)
	fields := append([]string{":method", method, ":path", path, ":scheme", "https", ":authority", "attacked"},
		header...)
	for i := 0; i < len(fields); i += 2 {
		if err := e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	id := x.next
	x.next += 2
	return x.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(block.String()),
		EndStream: end, EndHeaders: true})
}

// settings reads until the server has said how many streams it takes.
func (x *streams) settings() (maxStreams uint32, err error) {
	for {
		f, err := x.framer.ReadFrame()
		if err != nil {
			return 0, err
		}
		if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
			n, _ := s.Value(http2.SettingMaxConcurrentStreams)
			return n, nil
		}
	}
}
