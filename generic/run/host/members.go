package host

import (
	"encoding/json"
	"errors"
	"net/http"

	"k8s.io/klog/v2"

	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
)

// members serves the members of the embedded etcd's cluster. GET lists them, POST adds a member and responds with
// the shared keys of the cluster, DELETE removes ?member=NAME.
type members struct {
	server *embedded.Server
	keys   string // the key directory
}

// Joining is the request of a server that joins the cluster.
type Joining struct {
	Name string `json:"name"`
	URL  string `json:"peerURL"`
}

// Joined is the response to Joining. Its keys grant full access.
type Joined struct {
	Members []embedded.Member `json:"members"`
	Keys    map[string][]byte `json:"keys"` // as pki.ReadShared returns them
}

// maxJoining bounds the body of a request in bytes.
const maxJoining = 16 << 10

// Members returns the handler of the embedded etcd's members; nil without an embedded etcd.
func (s *Store) Members() http.Handler {
	if s.members == nil {
		return nil
	}
	return s.members
}

// ServeHTTP implements http.Handler.
func (m *members) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		m.respond(w, m.server.Members(), nil)
	case http.MethodPost:
		m.add(w, r)
	case http.MethodDelete:
		err := m.server.RemoveMember(r.Context(), r.URL.Query().Get("member"))
		m.respond(w, m.server.Members(), err)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "members support only GET, POST and DELETE", http.StatusMethodNotAllowed)
	}
}

func (m *members) add(w http.ResponseWriter, r *http.Request) {
	var who Joining
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJoining)).Decode(&who); err != nil {
		http.Error(w, "a member needs a name and a peerURL", http.StatusBadRequest)
		return
	}
	if err := m.server.AddMember(r.Context(), who.Name, who.URL); err != nil {
		m.respond(w, nil, err)
		return
	}
	if err := pki.EnsureShared(m.keys); err != nil {
		m.respond(w, nil, err)
		return
	}
	keys, err := pki.ReadShared(m.keys)
	klog.InfoS("Added member to the embedded etcd's cluster", "member", who.Name, "url", who.URL)
	m.respond(w, Joined{Members: m.server.Members(), Keys: keys}, err)
}

// respond writes a result or an error.
func (m *members) respond(w http.ResponseWriter, result any, err error) {
	var refused *embedded.MembersError
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err := json.NewEncoder(w).Encode(result); err != nil {
			klog.V(2).InfoS("Failed to send members", "err", err)
		}
	case errors.As(err, &refused), errors.Is(err, embedded.ErrNoCluster):
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, embedded.ErrMembersBusy), errors.Is(err, storage.ErrUnavailable):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		klog.ErrorS(err, "Failed to change the members of the embedded etcd")
		http.Error(w, "failed to change the members, see the server's log", http.StatusInternalServerError)
	}
}
