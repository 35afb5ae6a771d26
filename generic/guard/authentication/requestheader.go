package authentication

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"triplane.dev/generic/base/user"
)

// RequestHeaderConfig names the headers in which a front proxy sends the user. In each list the first header
// that is set counts.
type RequestHeaderConfig struct {
	UsernameHeaders     []string
	UIDHeaders          []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
	// AllowedNames are the common names of front proxies. If empty, every certificate of the bundle's
	// authorities is accepted.
	AllowedNames []string
}

// RequestHeader authenticates requests of front proxies, which have a client certificate that the bundle
// verifies. It removes the headers from every request, so that no backend trusts them.
func RequestHeader(bundle *CABundle, c RequestHeaderConfig) Request {
	return RequestHeaderNow(bundle, func() *RequestHeaderConfig { return &c })
}

// RequestHeaderNow is RequestHeader with a configuration that may change: now returns the current one. After a
// change the bundle must be set again, because results of verification are cached.
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
		if first(r.Header, now().UsernameHeaders) == "" {
			return nil, nil // the certificate of nearly all requests is not a proxy's and need not be verified as one
		}
		if _, err := v.verify(r.TLS.PeerCertificates, proxy); err != nil {
			return nil, err
		}
		return now().user(r.Header), nil
	})
}

// RemoteHeaders is the prefix of the standard headers. The server never passes them on.
const RemoteHeaders = "X-Remote-"

// drop removes configured headers without the prefix RemoteHeaders.
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

// begins reports whether a header name has a prefix, ignoring case.
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

// extra returns the values of the headers with the extra prefixes and removes these headers.
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
