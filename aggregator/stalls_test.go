package aggregator

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/serve/filters"
)

// limited serves a proxy after the filters of a server that executes one request at a time.
func limited(t *testing.T, backend http.HandlerFunc, timeout time.Duration) *httptest.Server {
	t.Helper()
	h := &proxyHandler{}
	front(t, h, backend, nil)
	o := filters.Options{Settings: filters.DefaultSettings()}
	o.RequestTimeout, o.MaxRequestsInFlight = timeout, 1
	o.Authentication = authentication.RequestFunc(func(*http.Request) (*authentication.Response, error) {
		return &authentication.Response{User: &user.Info{Name: "alice"}}, nil
	})
	s := httptest.NewServer(filters.Chain(h, o))
	t.Cleanup(s.Close)
	return s
}

const things = "/apis/ext.example.com/v1/things"

// othersAreServed waits until another request is served.
func othersAreServed(t *testing.T, s *httptest.Server) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		code, _, _ := send(t, newRequest(t, "GET", s.URL+things+"/small", ""))
		if code == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("another request gets %d", code)
		}
	}
}

// A client that does not read an external server's response does not block others.
func TestProxiedResponsesThatAreNotTaken(t *testing.T) {
	requested := make(chan struct{}, 1)
	s := limited(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/large") {
			requested <- struct{}{}
			for range 64 {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
			}
		}
	}, time.Minute)
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET "+things+"/large HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-requested
	othersAreServed(t, s)
}

// An external server that stops in the middle of a response does not block others longer than the request's
// deadline, and its client notices that the response is incomplete.
func TestBackendsThatStall(t *testing.T) {
	for _, begins := range []bool{false, true} {
		requested := make(chan struct{}, 1)
		s := limited(t, func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.URL.Path, "/stalls") {
				return
			}
			if begins {
				_, _ = io.WriteString(w, "half of")
				_ = http.NewResponseController(w).Flush()
			}
			requested <- struct{}{}
			<-r.Context().Done()
		}, 300*time.Millisecond)
		result := make(chan error, 1)
		go func() {
			resp, err := http.Get(s.URL + things + "/stalls")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
				if err == nil && resp.StatusCode == http.StatusGatewayTimeout {
					err = io.ErrUnexpectedEOF
				}
			}
			result <- err
		}()
		<-requested
		othersAreServed(t, s)
		if err := <-result; err == nil {
			t.Errorf("begins %v: the response of a server that stalls is complete", begins)
		}
	}
}
