package host

import (
	"encoding/json"
	"errors"
	"net/http"

	"k8s.io/klog/v2"

	"triplane/generic/run/pki"
	"triplane/generic/storage"
	"triplane/generic/storage/embedded"
)

// members serves the members of the embedded etcd's cluster: GET lists them, POST adds one and answers
// with all keys that servers of the cluster have in common, and DELETE removes ?member=NAME.
type members struct {
	server *embedded.Server
	keys   string // the directory of keys
}

// Joining is the request of a server that wants to become a member.
type Joining struct {
	Name string `json:"name"`
	URL  string `json:"peerURL"`
}

// Joined is the answer to it. Whoever has the keys may do everything.
type Joined struct {
	Members []embedded.Member `json:"members"`
	Keys    map[string][]byte `json:"keys"` // as pki.ReadShared returns them
}

// maxJoining bounds what is read of a request.
const maxJoining = 16 << 10

// Members serves the members of the embedded etcd; nil where there is none.
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
		m.answer(w, m.server.Members(), nil)
	case http.MethodPost:
		m.add(w, r)
	case http.MethodDelete:
		err := m.server.RemoveMember(r.Context(), r.URL.Query().Get("member"))
		m.answer(w, m.server.Members(), err)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "members can be listed, added and removed", http.StatusMethodNotAllowed)
	}
}

func (m *members) add(w http.ResponseWriter, r *http.Request) {
	var who Joining
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxJoining)).Decode(&who); err != nil {
		http.Error(w, "a member has a name and a peerURL", http.StatusBadRequest)
		return
	}
	if err := m.server.AddMember(r.Context(), who.Name, who.URL); err != nil {
		m.answer(w, nil, err)
		return
	}
	if err := pki.EnsureShared(m.keys); err != nil {
		m.answer(w, nil, err)
		return
	}
	keys, err := pki.ReadShared(m.keys)
	klog.InfoS("The embedded etcd expects another member", "member", who.Name, "url", who.URL)
	m.answer(w, Joined{Members: m.server.Members(), Keys: keys}, err)
}

// answer writes a result, or the error.
func (m *members) answer(w http.ResponseWriter, result any, err error) {
	var refused *embedded.MembersError
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if err := json.NewEncoder(w).Encode(result); err != nil {
			klog.V(2).InfoS("The members were not taken", "err", err)
		}
	case errors.As(err, &refused), errors.Is(err, embedded.ErrNoCluster):
		http.Error(w, err.Error(), http.StatusConflict)
	case errors.Is(err, embedded.ErrMembersBusy), errors.Is(err, storage.ErrUnavailable):
		w.Header().Set("Retry-After", "1")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		klog.ErrorS(err, "The members of the embedded etcd were not changed")
		http.Error(w, "the members were not changed, see the server's log", http.StatusInternalServerError)
	}
}
