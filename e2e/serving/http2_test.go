// The conformance of HTTP/2.

package serving

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"
	"time"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/programs"
	"triplane.dev/generic/serve/http2"
)

// TestHTTP2Conformance runs h2spec, which plays faults of clients and expects what RFC 9113 and RFC 7541 say. It has no
// credentials, and the connections of a whole server end after an anonymous request, so it plays against the package.
func TestHTTP2Conformance(t *testing.T) {
	h2 := &http2.Server{
		MaxStreams: 100, MaxFrame: 16 << 10, StreamWindow: 256 << 10, ConnectionWindow: 2 << 20, MaxHeaderBytes: 1 << 20,
		HandshakeTimeout: time.Minute, IdleTimeout: time.Minute, StalledLimit: time.Minute, Stalled: func() {},
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "conforming")
	})
	s := httptest.NewUnstartedServer(handler)
	s.TLS = &tls.Config{NextProtos: []string{http2.Protocol}}
	s.Config.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){
		http2.Protocol: func(_ *http.Server, c *tls.Conn, _ http.Handler) {
			h2.Serve(c, handler, func(*http2.Connection) context.Context { return t.Context() })
		},
	}
	s.StartTLS()
	defer s.Close()
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), harness.Tool(t, programs.H2spec), "-h", host, "-p", port, "-t", "-k")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
