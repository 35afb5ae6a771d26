package http2

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// maxName is the length of the names of fields that a connection remembers.
const maxName = 64

// canonical returns the name of a field as http.Header has it.
func (h *headerBlock) canonical(name string) string {
	if known, ok := h.names[name]; ok {
		return known
	}
	canonical := http.CanonicalHeaderKey(name)
	if len(h.names) < maxNames && len(name) <= maxName {
		h.names[strings.Clone(name)] = strings.Clone(canonical)
	}
	return canonical
}

// header returns the fields of a block as a header. Its values share memory.
func (h *headerBlock) header() http.Header {
	header := make(http.Header, len(h.fields))
	values := make([]string, len(h.fields))
	for i, f := range h.fields {
		name := h.canonical(f.Name)
		known, repeated := header[name]
		switch {
		case !repeated:
			values[i] = f.Value
			header[name] = values[i : i+1 : i+1]
		default:
			header[name] = append(known, f.Value)
		}
	}
	if cookies := header["Cookie"]; len(cookies) > 1 { // RFC 9113, section 8.2.3
		header["Cookie"] = []string{strings.Join(cookies, "; ")}
	}
	return header
}

// newRequest returns the request of a header block, or an error if that is malformed. ended says that no body follows.
func (c *Connection) newRequest(s *stream, h *headerBlock, ended bool) (*http.Request, error) {
	target, uri, err := h.target()
	if err != nil {
		return nil, err
	}
	r := c.template.WithContext((*requestContext)(s))
	r.Method, r.URL, r.RequestURI, r.Header = h.pseudo[method], target, uri, h.header()
	r.Host = h.pseudo[authority]
	if r.Host == "" {
		r.Host = r.Header.Get("Host")
	}
	delete(r.Header, "Host")
	s.body.declared, err = declaredLength(r.Header)
	if err != nil {
		return nil, err
	}
	if values, ok := r.Header["Expect"]; ok && httpguts.HeaderValuesContainsToken(values, "100-continue") {
		s.body.expects = true
		delete(r.Header, "Expect")
	}
	r.Trailer = announcedTrailers(r.Header)
	if ended {
		if s.body.declared > 0 {
			return nil, fmt.Errorf("a body of %d bytes is missing", s.body.declared)
		}
		return r, nil
	}
	r.ContentLength = s.body.declared
	r.Body = requestBody{s}
	return r, nil
}

// target returns the URL of a request, and the target of the request as HTTP/1.1 has it.
func (h *headerBlock) target() (*url.URL, string, error) {
	if h.pseudo[method] == http.MethodConnect {
		if h.has[path] || h.has[scheme] || h.pseudo[authority] == "" {
			return nil, "", fmt.Errorf("CONNECT needs an authority alone")
		}
		return &url.URL{Host: h.pseudo[authority]}, h.pseudo[authority], nil
	}
	p := h.pseudo[path]
	if h.pseudo[method] == "" || h.pseudo[scheme] == "" || p == "" {
		return nil, "", fmt.Errorf("a pseudo-header field is missing")
	}
	if p[0] != '/' && (p != "*" || h.pseudo[method] != http.MethodOptions) {
		return nil, "", fmt.Errorf("invalid path %q", p)
	}
	u, err := url.ParseRequestURI(p)
	if err != nil {
		return nil, "", fmt.Errorf("invalid path: %w", err)
	}
	return u, p, nil
}

// declaredLength returns the Content-Length, or -1.
func declaredLength(h http.Header) (int64, error) {
	values, ok := h["Content-Length"]
	if !ok {
		return -1, nil
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return 0, fmt.Errorf("different values of Content-Length")
		}
	}
	n, err := strconv.ParseUint(values[0], 10, 63)
	if err != nil {
		return 0, fmt.Errorf("invalid Content-Length: %w", err)
	}
	return int64(n), nil
}

// announcedTrailers returns the trailers that a request announces, without values; nil if it announces none.
func announcedTrailers(h http.Header) http.Header {
	values, ok := h["Trailer"]
	if !ok {
		return nil
	}
	delete(h, "Trailer")
	trailers := http.Header{}
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if httpguts.ValidTrailerHeader(name) {
				trailers[name] = nil
			}
		}
	}
	return trailers
}

// newStream returns the stream of a request whose handler is to be started.
func (c *Connection) newStream(id uint32) *stream {
	s := &stream{c: c, id: id}
	s.changed.L = &c.mu
	s.response = response{s: s, header: make(http.Header, headers)}
	if c.server.WriteTimeout > 0 {
		s.writeBy = time.Now().Add(c.server.WriteTimeout)
	}
	s.body.credit.limit = c.server.StreamWindow
	s.body.credit.window = c.server.StreamWindow
	return s
}

// headers is how many fields the headers of most responses have.
const headers = 8
