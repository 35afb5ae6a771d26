package filters

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"triplane.dev/generic/base/request"
)

const (
	slowLimit = 300 * time.Millisecond // in place of StalledLimit
	idleFor   = 4 * slowLimit
	slowSize  = 2 << 20
)

// slowServer serves with a short limit and small buffers.
func slowServer(t *testing.T) string {
	o := testOptions()
	o.Authorization, o.stalledLimit = nil, slowLimit
	s := httptest.NewUnstartedServer(Chain(http.HandlerFunc(answerSlowly), o))
	s.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		_ = c.(*net.TCPConn).SetWriteBuffer(64 << 10)
		return ctx
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func answerSlowly(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	i := request.InfoFrom(r.Context())
	switch {
	case i.Subresource == "exec" || i.Subresource == "portforward":
		conn, buffered, err := c.Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, buffered)
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d bytes, %v", len(body), err)
	case i.Verb == "watch" || r.URL.Query().Has("follow"):
		for range 2 {
			_, _ = io.WriteString(w, "a line\n")
			_ = c.Flush()
			time.Sleep(idleFor)
		}
	default:
		_, _ = w.Write(bytes.Repeat([]byte("x"), slowSize))
	}
}

// exchangeSlowly sends a request over HTTP/1.1; it calls between before it reads the response.
func exchangeSlowly(t *testing.T, address, head string, between func(net.Conn)) (*http.Response, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(128 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, head+"\r\nHost: x\r\nAuthorization: Bearer alice\r\n"); err != nil {
		t.Fatal(err)
	}
	between(conn)
	from := bufio.NewReader(conn)
	resp, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, from
}

func end(conn net.Conn) { _, _ = io.WriteString(conn, "\r\n") }

// Idle and slow clients are served over HTTP/1.1; a client that reads nothing of a list is not.
func TestSlowClientsAreServed(t *testing.T) {
	address := slowServer(t)
	for _, c := range []struct {
		name, path string
		waits      time.Duration // before it reads
		pause      time.Duration // between pieces of 64 KiB
		bytes      int           // 0 where the connection is cut
	}{
		{"a list, slowly", "/api/v1/nodes", 0, slowLimit / 6, slowSize},
		{"a list that is not taken", "/api/v1/nodes", idleFor, 0, 0},
		{"a log that is not taken", "/api/v1/namespaces/a/pods/b/log", idleFor, 0, slowSize},
		{"an idle log", "/api/v1/namespaces/a/pods/b/log?follow=true", 0, 0, len("a line\na line\n")},
		{"an idle watch", "/api/v1/nodes?watch=1", 0, 0, len("a line\na line\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			resp, _ := exchangeSlowly(t, address, "GET "+c.path+" HTTP/1.1", func(conn net.Conn) {
				end(conn)
				time.Sleep(c.waits)
			})
			defer resp.Body.Close()
			got, piece := 0, make([]byte, 64<<10)
			var err error
			for err == nil {
				var n int
				n, err = io.ReadFull(resp.Body, piece)
				got += n
				time.Sleep(c.pause)
			}
			if c.bytes > 0 && got != c.bytes || c.bytes == 0 && got == slowSize {
				t.Errorf("%d bytes, %v; want %d", got, err, c.bytes)
			}
		})
	}
}

// A body that arrives byte by byte is read.
func TestSlowUploads(t *testing.T) {
	const size = 40
	resp, _ := exchangeSlowly(t, slowServer(t), "PUT /api/v1/nodes/a HTTP/1.1", func(conn net.Conn) {
		fmt.Fprintf(conn, "Content-Length: %d\r\n\r\n", size)
		for range size {
			time.Sleep(max(2*stalledAfter, idleFor/size))
			_, _ = io.WriteString(conn, "x")
		}
	})
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if want := fmt.Sprintf("%d bytes, <nil>", size); err != nil || string(body) != want {
		t.Errorf("%s, %v; want %s", body, err, want)
	}
}

// Hijacked connections may be idle.
func TestIdleUpgrades(t *testing.T) {
	address := slowServer(t)
	for _, subresource := range []string{"exec", "portforward"} {
		t.Run(subresource, func(t *testing.T) {
			t.Parallel()
			var conn net.Conn
			resp, from := exchangeSlowly(t, address, "POST /api/v1/namespaces/a/pods/b/"+subresource+" HTTP/1.1", func(c net.Conn) {
				conn = c
				_, _ = io.WriteString(c, "Connection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			})
			defer resp.Body.Close() // of an upgrade, without content
			time.Sleep(idleFor)
			if _, err := io.WriteString(conn, "still there\n"); err != nil {
				t.Fatal(err)
			}
			if line, err := from.ReadString('\n'); err != nil || strings.TrimSpace(line) != "still there" {
				t.Errorf("%q, %v", line, err)
			}
		})
	}
}
