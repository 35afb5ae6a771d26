package aggregator

import (
	"net/http"
	"strings"

	"k8s.io/client-go/transport"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
)

// IdentityHeaders are the names and prefixes of request headers by which external API servers identify users, in
// addition to X-Remote-…. They are those of --requestheader-…, which external servers read from the
// extension-apiserver-authentication config map.
type IdentityHeaders struct {
	Names    []string
	Prefixes []string
}

// identity replaces the identity headers of a client by those of the authenticated user.
type identity struct {
	names    map[string]bool // canonical
	prefixes []string        // lower case
}

func newIdentity(h IdentityHeaders) *identity {
	i := &identity{
		names: map[string]bool{"Authorization": true},
		// Impersonation has already replaced the user.
		prefixes: []string{"x-remote-", "impersonate-"},
	}
	for _, name := range h.Names {
		i.names[http.CanonicalHeaderKey(name)] = true
	}
	for _, prefix := range h.Prefixes {
		if prefix != "" {
			i.prefixes = append(i.prefixes, strings.ToLower(prefix))
		}
	}
	return i
}

// setUser sets the headers of a user's request.
func (i *identity) setUser(r *http.Request, u *user.Info) {
	for name := range r.Header {
		if i.names[http.CanonicalHeaderKey(name)] || i.hasPrefix(strings.ToLower(name)) {
			delete(r.Header, name)
		}
	}
	dropProtocolToken(r.Header)
	transport.SetAuthProxyHeaders(r, u.Name, u.UID, u.Groups, u.Extra)
}

func (i *identity) hasPrefix(lower string) bool {
	for _, prefix := range i.prefixes {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return false
}

// dropProtocolToken removes a bearer token from the subprotocols of a WebSocket.
func dropProtocolToken(h http.Header) {
	const name = "Sec-Websocket-Protocol"
	offered := strings.Join(h[name], ",")
	if !strings.Contains(offered, authentication.WebSocketPrefix) {
		return
	}
	var others []string
	for protocol := range strings.SplitSeq(offered, ",") {
		if protocol = strings.TrimSpace(protocol); !strings.HasPrefix(protocol, authentication.WebSocketPrefix) {
			others = append(others, protocol)
		}
	}
	h.Set(name, strings.Join(others, ", "))
}
