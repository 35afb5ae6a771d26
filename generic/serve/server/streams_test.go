package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/serve/secureserving"
)

// TestStreamsOfAConnection sends many bodies over a connection. Some are not read and some are cancelled; the others
// arrive completely.
func TestStreamsOfAConnection(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 40_000)
	idle := make(chan struct{}, 64)
	known := func(c *Config, _ *secureserving.SecureServing) { // connections of strangers end after a request
		c.Authentication = authentication.RequestFunc(func(*http.Request) (*authentication.Response, error) {
			return &authentication.Response{User: &user.Info{Name: "someone"}}, nil
		})
	}
	p, _, _ := serveTLS(t, known, map[string]http.HandlerFunc{
		"/body": func(w http.ResponseWriter, _ *http.Request) {
			for rest := body; len(rest) > 0; {
				n := min(len(rest), 70_001)
				w.Write(rest[:n])
				rest = rest[n:]
			}
			w.Header().Set(http.TrailerPrefix+"End", "yes")
		},
		"/watch": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			idle <- struct{}{}
			<-r.Context().Done()
		},
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	url := "https://" + p.Config().Serving.Address()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	open := func(ctx context.Context, path string) *http.Response {
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
		resp, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return &http.Response{Body: http.NoBody}
		}
		return resp
	}
	for range 20 {
		defer open(ctx, "/watch").Body.Close()
		<-idle
	}
	unread := open(ctx, "/body") // waits for room, in nobody's way
	defer unread.Body.Close()

	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			resp := open(ctx, "/body")
			defer resp.Body.Close()
			if i%3 == 0 {
				_, _ = io.CopyN(io.Discard, resp.Body, int64(i*1000))
				return // given up
			}
			got, err := io.ReadAll(resp.Body)
			if err != nil || !bytes.Equal(got, body) || resp.Trailer.Get("End") != "yes" {
				t.Errorf("%d: %d bytes, %v, trailer %v", i, len(got), err, resp.Trailer)
			}
		})
	}
	all.Wait()
	if got, err := io.ReadAll(unread.Body); err != nil || !bytes.Equal(got, body) {
		t.Errorf("the body that was read late: %d bytes, %v", len(got), err)
	}
}
