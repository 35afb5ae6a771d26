package http2

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	frame "golang.org/x/net/http2"
)

// describe writes what a request has.
func describe(w http.ResponseWriter, r *http.Request) {
	fmt.Fprintf(w, "%s %q %q %q %d", r.Method, r.Host, r.URL, r.RequestURI, r.ContentLength)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		fmt.Fprintf(w, " %s=%q", name, r.Header[name])
	}
	if r.Trailer != nil {
		fmt.Fprintf(w, " trailer=%q", slices.Sorted(maps.Keys(r.Trailer)))
	}
	if r.Proto != "HTTP/2.0" || r.ProtoMajor != 2 || r.ProtoMinor != 0 || r.TLS.NegotiatedProtocol != Protocol ||
		!strings.HasPrefix(r.RemoteAddr, "127.0.0.1:") || (r.Body == http.NoBody) != (r.ContentLength == 0) {
		fmt.Fprintf(w, " %s %v %s %v", r.Proto, r.TLS, r.RemoteAddr, r.Body)
	}
}

func TestRequests(t *testing.T) {
	client := dial(t, serve(t, describe), open...)
	for _, c := range []struct {
		name   string
		body   bool
		fields []string
		want   string
	}{
		{"GET", false, to("GET", "/a%2fb?c=d"), `GET "example.com" "/a%2fb?c=d" "/a%2fb?c=d" 0`},
		{"header", false, to("GET", "/", "x-a=1", "y=2", "x-a=3", "x-a=4"),
			`GET "example.com" "/" "/" 0 X-A=["1" "3" "4"] Y=["2"]`},
		{"cookies", false, to("GET", "/", "cookie=a=1", "x=y", "cookie=b=2", "cookie=c=3"),
			`GET "example.com" "/" "/" 0 Cookie=["a=1; b=2; c=3"] X=["y"]`},
		{"authority and host", false, to("GET", "/", "host=b"), `GET "example.com" "/" "/" 0`},
		{"host", false, []string{":method=GET", ":scheme=https", ":path=/", "host=b"}, `GET "b" "/" "/" 0`},
		{"OPTIONS", false, to("OPTIONS", "*"), `OPTIONS "example.com" "*" "*" 0`},
		{"CONNECT", false, []string{":method=CONNECT", ":authority=a:1"}, `CONNECT "a:1" "//a:1" "a:1" 0`},
		{"two slashes", false, to("GET", "//a/b"), `GET "example.com" "//a/b" "//a/b" 0`},
		{"te", false, to("GET", "/", "te=trailers"), `GET "example.com" "/" "/" 0 Te=["trailers"]`},
		{"no body", false, to("POST", "/", "content-length=0"), `POST "example.com" "/" "/" 0 Content-Length=["0"]`},
		{"unknown length", true, to("POST", "/"), `POST "example.com" "/" "/" -1`},
		{"length", true, to("POST", "/", "content-length=3", "content-length=3"),
			`POST "example.com" "/" "/" 3 Content-Length=["3" "3"]`},
		{"trailers", true, to("POST", "/", "trailer=a, b-c", "trailer=Content-Length"),
			`POST "example.com" "/" "/" -1 trailer=["A" "B-C"]`},
		{"expect", true, to("POST", "/", "expect=100-continue"), `POST "example.com" "/" "/" -1`},
		{"expect nothing", false, to("GET", "/", "expect=100-continue", "trailer=a"), `GET "example.com" "/" "/" 0 trailer=["A"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			client.t = t
			id := client.send(!c.body, c.fields...)
			if c.body {
				client.must(client.WriteData(id, true, []byte("abc")))
			}
			if r := client.result(id); r.body.String() != c.want {
				t.Errorf("%s\nwant %s", r.body.String(), c.want)
			}
		})
	}
	client.t = t
}

// Malformed requests are reset. The connection continues.
func TestMalformedRequests(t *testing.T) {
	invoked := make(chan string, 100)
	client := dial(t, serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		invoked <- r.URL.Path
	}), open...)
	for name, fields := range map[string][]string{
		"upper case":          to("GET", "/", "Accept=a"),
		"name":                to("GET", "/", "a b=c"),
		"empty name":          to("GET", "/", "\x00=c"),
		"value":               to("GET", "/", "a=b\nc"),
		"connection":          to("GET", "/", "connection=close"),
		"keep-alive":          to("GET", "/", "keep-alive=a"),
		"proxy-connection":    to("GET", "/", "proxy-connection=a"),
		"transfer-encoding":   to("GET", "/", "transfer-encoding=chunked"),
		"upgrade":             to("GET", "/", "upgrade=a"),
		"te":                  to("GET", "/", "te=gzip"),
		"no method":           to("GET", "/")[1:],
		"empty method":        to("", "/"),
		"no scheme":           {":method=GET", ":path=/"},
		"no path":             to("GET", "/")[:3],
		"empty path":          to("GET", ""),
		"path":                to("GET", "a"),
		"path with host":      to("GET", "http://a/"),
		"escape":              to("GET", "/%zz"),
		"star":                to("GET", "*"),
		"repeated":            append([]string{":method=GET"}, to("GET", "/")...),
		"late":                append([]string{"a=b"}, to("GET", "/")...),
		"unknown":             append([]string{":protocol=a"}, to("GET", "/")...),
		"response":            append([]string{":status=200"}, to("GET", "/")...),
		"CONNECT":             to("CONNECT", "/"),
		"CONNECT without":     {":method=CONNECT"},
		"length":              to("GET", "/", "content-length=a"),
		"signed length":       to("GET", "/", "content-length=-1"),
		"lengths":             to("GET", "/", "content-length=0", "content-length=1"),
		"length without data": to("GET", "/", "content-length=1"),
	} {
		t.Run(name, func(t *testing.T) {
			client.t = t
			if r := client.result(client.send(true, fields...)); r.String() != "reset PROTOCOL_ERROR" {
				t.Error(r)
			}
		})
	}
	client.t = t
	for _, data := range []string{"a", "abc"} {
		id := client.send(false, to("POST", "/body", "content-length=2")...)
		client.must(client.WriteData(id, true, []byte(data)))
		if r := client.result(id); r.reset != "PROTOCOL_ERROR" {
			t.Errorf("a body of %d bytes: %s", len(data), r)
		}
		if path := within(t, invoked, "the handler"); path != "/body" {
			t.Errorf("a malformed request of %s is served", path)
		}
	}
	for name, trailers := range map[string][]string{
		"pseudo": {":path=/"}, "connection": {"connection=a"}, "upper case": {"A=b"}, "length": {"a=b"},
	} {
		id := client.send(false, to("POST", "/trailers", "trailer=a", "content-length=2")...)
		client.must(client.WriteHeaders(frame.HeadersFrameParam{
			StreamID: id, BlockFragment: client.encode(trailers...), EndStream: true, EndHeaders: true,
		}))
		if r := client.result(id); r.String() != "reset PROTOCOL_ERROR" {
			t.Errorf("trailers with %s: %s", name, r)
		}
		within(t, invoked, "the handler")
	}
	id := client.get("/")
	if r := client.result(id); r.String() != "200 content-length=0" || within(t, invoked, "the handler") != "/" {
		t.Errorf("after malformed requests: %s", r)
	}
}

// A request whose header exceeds the limit gets 431, and those whose header bombs the decoder end the connection.
func TestLargeHeaders(t *testing.T) {
	s := serve(t, hello)
	client := dial(t, s, open...)
	id := client.get("/", "a="+strings.Repeat("x", s.MaxHeaderBytes-50))
	if r := client.result(id); !strings.HasPrefix(r.String(), "431") {
		t.Error(r)
	}
	if r := client.result(client.get("/", "a="+strings.Repeat("x", s.MaxHeaderBytes-500))); !strings.HasPrefix(r.String(), "200") {
		t.Errorf("a large header: %s", r)
	}
	begin := func(c *rawClient, end bool, fields ...string) {
		c.must(c.WriteHeaders(frame.HeadersFrameParam{
			StreamID: c.next, BlockFragment: c.encode(fields...), EndStream: true, EndHeaders: end}))
	}
	for name, send := range map[string]func(c *rawClient){
		"references": func(c *rawClient) {
			many := slices.Repeat([]string{"a=" + strings.Repeat("x", 3000)}, 20)
			begin(c, true, to("GET", "/", many...)...)
		},
		"a value": func(c *rawClient) { begin(c, true, to("GET", "/", "a="+strings.Repeat("~", 17<<10))...) },
		"CONTINUATION": func(c *rawClient) {
			begin(c, false, to("GET", "/")...)
			for range fragments {
				c.must(c.WriteContinuation(1, false, nil))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := dial(t, s, open...)
			client.encoder.SetMaxDynamicTableSize(4096)
			send(client)
			if code := client.violation(); code != "ENHANCE_YOUR_CALM" || client.streams[1] != nil {
				t.Errorf("GOAWAY %q, %v", client.goAway, client.streams[1])
			}
		})
	}
}

// A header of many cookies is joined in linear time. (An indexed field is a byte, so a client sends many.)
func TestManyCookies(t *testing.T) {
	var h headerBlock
	h.init(1 << 20)
	h.start()
	for range 20_000 {
		h.add(hpack.HeaderField{Name: "cookie", Value: "a=b"})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	header := h.header()
	runtime.ReadMemStats(&after)
	if n := len(header.Get("Cookie")); n != 20_000*5-2 {
		t.Errorf("%d bytes", n)
	}
	atMost(t, after.TotalAlloc-before.TotalAlloc, 8<<20, "allocated bytes")
}
