package server

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"triplane.dev/generic/serve/secureserving"
)

// At shutdown, clients of HTTP/1.1 with open connections get a response to each request that they could send.
// Afterwards they cannot connect.
func TestShutdownAnswersHTTP1(t *testing.T) {
	const clients, rounds = 16, 3
	for range rounds {
		var answered atomic.Int64
		p, _, stop := serveTLS(t, func(_ *Config, s *secureserving.SecureServing) { s.DisableHTTP2 = true }, map[string]http.HandlerFunc{
			"/count": func(http.ResponseWriter, *http.Request) { answered.Add(1) },
		})
		url := "https://" + p.Config().Serving.Address() + "/count"
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				defer transport.CloseIdleConnections()
				for sent := 0; ; sent++ {
					connected := false
					ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
					req, _ := http.NewRequestWithContext(ctx, http.MethodPost, url, io.NopCloser(strings.NewReader("x"))) // which is not sent again
					resp, err := (&http.Client{Transport: transport}).Do(req)
					if err == nil {
						resp.Body.Close()
						continue
					}
					if connected { // and not refused, nor closed before the handshake
						t.Errorf("request %d was lost: %v", sent, err)
					}
					return
				}
			})
		}
		eventually(t, "requests", func() bool { return answered.Load() > 20*clients })
		if err := stop(); err != nil {
			t.Error(err)
		}
		all.Wait()
	}
}
