package embedded

import (
	"context"
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

	"triplane.dev/generic/storage/embedded/raftlog"
	"triplane.dev/internal/worker"
)

// Peer configures the connections between members. Members authenticate each other with certificates of a
// dedicated authority: all of its certificates belong to members.
type Peer struct {
	// Name is the unique name of this member.
	Name string
	// Listen is the host and port to listen on. URL is the address for other members.
	Listen string
	URL    url.URL
	// Initial are the URLs of the initial members by name, including this one, for a new directory. If it is
	// empty, this member is the only one. An existing directory already has them.
	Initial map[string]string
	// Joining is set if the Initial members are an existing cluster that this member was added to.
	Joining bool
	// CertFile is the certificate of this member as server and client. CAFile is the authority of all members.
	CertFile, KeyFile, CAFile string
	// Wait limits how long a start waits for a majority.
	Wait time.Duration
}

func (p *Peer) tls() transport.TLSInfo {
	return transport.TLSInfo{
		CertFile: p.CertFile, KeyFile: p.KeyFile, TrustedCAFile: p.CAFile, ClientCertAuth: true,
		// Source addresses are not checked, because of address translation between members.
		SkipClientSANVerify: true,
	}
}

// urls returns the initial members in etcd's representation.
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
		return nil, fmt.Errorf("this member, %s at %s, is not among the initial ones %v", p.Name, &p.URL,
			slices.Sorted(maps.Keys(p.Initial)))
	}
	return initial, nil
}

// peers serves the requests of other members.
type peers struct {
	server *http.Server
	client *http.Transport
	member atomic.Pointer[http.Handler] // nil until serve
}

// listenPeers starts to listen for other members. It returns nil if p is nil.
func listenPeers(p *Peer) (*peers, error) {
	if p == nil {
		return nil, nil
	}
	tls := p.tls()
	listener, err := rafthttp.NewListener(url.URL{Scheme: "https", Host: p.Listen}, &tls)
	if err != nil {
		return nil, fmt.Errorf("failed to listen for members of the embedded etcd on %s: %w", p.Listen, err)
	}
	client, err := transport.NewTransport(tls, changeWithin)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s := &peers{client: client}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: rafthttp.ConnReadTimeout, ErrorLog: log.New(quiet{}, "", 0)}
	worker.Go(func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "Stopped listening for other members of the embedded etcd", "address", p.Listen)
		}
	})
	return s, nil
}

// serve passes further requests to a member.
func (p *peers) serve(member *etcdserver.EtcdServer, log *raftlog.Log) {
	mux := http.NewServeMux()
	mux.Handle("/", etcdhttp.NewPeerHandler(newLogger(), member))
	mux.Handle(raftlog.Path, log)
	var handler http.Handler = mux
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

// close closes all connections.
func (p *peers) close() error {
	if p == nil {
		return nil
	}
	p.client.CloseIdleConnections()
	return p.server.Close()
}

// leaderLog reads the bytes of the leader's log from the leader.
func (s *Server) leaderLog(ctx context.Context) (int64, error) {
	leader := s.etcd.Cluster().Member(s.etcd.Leader())
	if leader == nil || len(leader.PeerURLs) == 0 {
		return 0, errNoMajority
	}
	return raftlog.Fetch(ctx, s.peers.client, leader.PeerURLs[0])
}

// quiet logs messages of the HTTP server, which are about failed connections, at verbosity 2.
type quiet struct{}

func (quiet) Write(message []byte) (int, error) {
	klog.V(2).InfoS("Failed connection of a member of the embedded etcd", "message", string(message))
	return len(message), nil
}
