package embedded

import (
	"errors"
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"k8s.io/klog/v2"

	"triplane/internal/worker"
)

// Peer is how the members of a cluster reach each other. They authenticate each other by certificates of an
// authority that has no other use: every certificate of it is a member's.
type Peer struct {
	// Name is this member's; no other one has it.
	Name string
	// Listen is the host and port to listen on, URL where the others find it.
	Listen string
	URL    url.URL
	// Initial are the URLs of the members that a new directory is begun with, by name, this one among
	// them; none is this one alone. A directory that was begun knows them.
	Initial map[string]string
	// Joining says that the Initial members run already, and expect this one.
	Joining bool
	// CertFile is the certificate of this member, as a server and as a client, and CAFile their authority.
	CertFile, KeyFile, CAFile string
	// Wait bounds how long a start waits for a majority of the members.
	Wait time.Duration
}

func (p *Peer) tls() transport.TLSInfo {
	return transport.TLSInfo{
		CertFile: p.CertFile, KeyFile: p.KeyFile, TrustedCAFile: p.CAFile, ClientCertAuth: true,
		// Where a connection comes from says nothing: there may be address translation between members.
		SkipClientSANVerify: true,
	}
}

// urls are the members that a directory is begun with, as etcd has them.
func (p *Peer) urls() (types.URLsMap, error) {
	initial := types.URLsMap{}
	for name, member := range p.Initial {
		urls, err := memberURL(member)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", name, err)
		}
		initial[name] = urls
	}
	if len(initial) == 0 {
		initial[p.Name] = types.URLs{p.URL}
	}
	if initial[p.Name].String() != p.URL.String() {
		return nil, fmt.Errorf("this member, %s at %s, is not among the initial ones %v", p.Name, &p.URL, slices.Sorted(maps.Keys(p.Initial)))
	}
	return initial, nil
}

// peers serves the requests of other members.
type peers struct {
	server *http.Server
	member atomic.Pointer[http.Handler] // nil before there is one
}

// listenPeers begins to serve other members; nil where there is no Peer.
func listenPeers(p *Peer) (*peers, error) {
	if p == nil {
		return nil, nil
	}
	tls := p.tls()
	listener, err := rafthttp.NewListener(url.URL{Scheme: "https", Host: p.Listen}, &tls)
	if err != nil {
		return nil, fmt.Errorf("members of the embedded etcd cannot be listened for on %s: %w", p.Listen, err)
	}
	s := &peers{}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: rafthttp.ConnReadTimeout, ErrorLog: log.New(quiet{}, "", 0)}
	worker.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "The embedded etcd does not listen to other members any more", "address", p.Listen)
		}
	})
	return s, nil
}

// serve passes requests to a member from now on.
func (p *peers) serve(member *etcdserver.EtcdServer) {
	handler := etcdhttp.NewPeerHandler(newLogger(), member)
	p.member.Store(&handler)
}

// ServeHTTP implements http.Handler.
func (p *peers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if member := p.member.Load(); member != nil {
		(*member).ServeHTTP(w, r)
		return
	}
	http.Error(w, "the member starts", http.StatusServiceUnavailable)
}

// close ends all connections.
func (p *peers) close() error {
	if p == nil {
		return nil
	}
	return p.server.Close()
}

// quiet logs the HTTP server's messages, which are about failed connections, at a higher verbosity.
type quiet struct{}

func (quiet) Write(message []byte) (int, error) {
	klog.V(2).InfoS("A connection to another member of the embedded etcd", "message", string(message))
	return len(message), nil
}
