package server

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"triplane.dev/generic/serve/secureserving"
)

// The listener responds 503 until the server starts, and then belongs to the server.
func TestServeUnavailable(t *testing.T) {
	certs, err := secureserving.NewCertificates(selfSigned(t, t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := secureserving.Listen(context.Background(), "127.0.0.1:0", false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	serving := &secureserving.SecureServing{Listener: l, Certificates: certs}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	ask := func() (int, string, string) {
		resp, err := client.Get("https://" + serving.Address() + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, resp.Header.Get("Retry-After"), string(body)
	}
	stop := serving.ServeUnavailable("it waits for others")
	code, after, body := ask()
	if code != http.StatusServiceUnavailable || after != "1" || !strings.Contains(body, `"kind":"Status"`) || !strings.Contains(body, "it waits for others") {
		t.Errorf("%d, %s, %s", code, after, body)
	}
	stop()
	s := newTestServer(t, func(c *Config) { c.Serving = serving })
	end := run(t, s.PrepareRun())
	if code, _, body := ask(); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
