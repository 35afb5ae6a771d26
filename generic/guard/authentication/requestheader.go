package authentication

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"triplane/generic/base/user"
)

// RequestHeaderConfig names the headers in which a front proxy says for whom it
// asks, most important first.
type RequestHeaderConfig struct {
	UsernameHeaders     []string
	UIDHeaders          []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
	// AllowedNames are the common names of proxies; empty means any that the
	// bundle's authorities certify.
	AllowedNames []string
}

// RequestHeader believes a front proxy that proves itself with a certificate. The
// headers are taken away afterwards, whoever sent them, so that nobody behind this
// server believes them.
func RequestHeader(bundle *CABundle, c RequestHeaderConfig) Request {
	return RequestHeaderNow(bundle, func() *RequestHeaderConfig { return &c })
}

// RequestHeaderNow is RequestHeader with a configuration that changes: now returns that of the
// present. After a change the bundle has to be set, since who was a proxy is remembered.
func RequestHeaderNow(bundle *CABundle, now func() *RequestHeaderConfig) Request {
	v := &certificateVerifier{bundle: bundle}
	v.known.limit = maxKnownCertificates
	proxy := func(cert *x509.Certificate) (*Response, error) {
		allowed := now().AllowedNames
		if name := cert.Subject.CommonName; len(allowed) > 0 && !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("x509: subject with cn=%s is not in the allowed list", name)
		}
		return &Response{}, nil
	}
	return RequestFunc(func(r *http.Request) (*Response, error) {
		defer now().drop(r.Header)
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return nil, nil
		}
		if _, err := v.verify(r.TLS.PeerCertificates, proxy); err != nil {
			return nil, err
		}
		return now().user(r.Header), nil
	})
}

// RemoteHeaders is how the usual headers about users begin, of which none is passed on.
const RemoteHeaders = "X-Remote-"

// drop takes the other headers away.
func (c *RequestHeaderConfig) drop(h http.Header) {
	for _, names := range [][]string{c.UsernameHeaders, c.UIDHeaders, c.GroupHeaders} {
		for _, n := range names {
			if !begins(n, RemoteHeaders) {
				h.Del(n)
			}
		}
	}
	for _, p := range c.ExtraHeaderPrefixes {
		if begins(p, RemoteHeaders) {
			continue
		}
		for name := range h {
			if begins(name, p) {
				delete(h, name)
			}
		}
	}
}

// begins reports whether a header's name has a prefix, in whatever case.
func begins(name, prefix string) bool {
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}

func (c *RequestHeaderConfig) user(h http.Header) *Response {
	name := first(h, c.UsernameHeaders)
	if name == "" {
		return nil
	}
	u := &user.Info{Name: name, UID: first(h, c.UIDHeaders)}
	for _, header := range c.GroupHeaders {
		u.Groups = append(u.Groups, h.Values(header)...)
	}
	u.Extra = c.extra(h)
	for _, headers := range [][]string{c.UsernameHeaders, c.UIDHeaders, c.GroupHeaders} {
		for _, header := range headers {
			h.Del(header)
		}
	}
	return &Response{User: u}
}

func first(h http.Header, names []string) string {
	for _, n := range names {
		if v := h.Get(n); v != "" {
			return v
		}
	}
	return ""
}

// extra collects the headers with the extra prefixes and takes them away.
func (c *RequestHeaderConfig) extra(h http.Header) map[string][]string {
	var extra map[string][]string
	for _, prefix := range c.ExtraHeaderPrefixes {
		for header, values := range h {
			if !begins(header, prefix) {
				continue
			}
			key := strings.ToLower(header[len(prefix):])
			if plain, err := url.PathUnescape(key); err == nil {
				key = plain
			}
			if extra == nil {
				extra = map[string][]string{}
			}
			extra[key] = append(extra[key], values...)
			delete(h, header)
		}
	}
	return extra
}
