package aggregator

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"triplane.dev/aggregator/peermetrics"
	"triplane.dev/generic/base/user"
	"triplane.dev/internal/worker"
)

// Peers are the other servers of the same storage. During an upgrade they are of another release and may serve
// other resources. See KEP-4020.
type Peers struct {
	// Follow calls seen with the identity and the host:port of each other server: whenever it renews its lease,
	// and with "" after it has expired, until ctx is done. It calls listed after the servers that existed at
	// first.
	Follow func(ctx context.Context, seen func(identity, address string), listed func())
	// Authorities verify their serving certificates.
	Authorities *x509.CertPool
}

const (
	// peerProxied is the header of requests that a peer has proxied; they are not proxied again.
	peerProxied = "X-Kubernetes-Peer-Proxied"
	// ownDiscovery is the media type of the discovery of one server without its peers.
	ownDiscovery = aggregatedDiscovery + ";profile=nopeer"
	// peerServerName is a name in the serving certificates of all servers of a cluster.
	peerServerName = "kubernetes.default.svc"
	// allListed follows the peers that existed at first in the queue.
	allListed = ""
)

// peerUser is the user of discovery requests to peers.
var peerUser = &user.Info{Name: "system:apiserver", UID: "system:apiserver", Groups: []string{user.AllAuthenticated}}

// peers caches the resources that each peer serves. It is safe for concurrent use.
type peers struct {
	config   Peers
	cert     ClientCertificate
	metrics  *peermetrics.Metrics
	queue    *worker.Queue[string]
	onChange func([]schema.GroupVersion)
	// requested is closed when the discovery of all peers that existed at first was requested.
	requested     chan struct{}
	requestedOnce sync.Once

	mu    sync.Mutex
	known map[string]*peer // by identity
}

// peer is a server with its last known discovery.
type peer struct {
	address string
	to      *target
	etag    string
	serves  map[schema.GroupVersion][]metav1.APIResource
}

// newPeers returns peers that call onChange with the group versions whose resources have changed.
func newPeers(config Peers, cert ClientCertificate, m *peermetrics.Metrics, queues workqueue.MetricsProvider,
	onChange func([]schema.GroupVersion)) *peers {
	p := &peers{config: config, cert: cert, metrics: m, onChange: onChange, requested: make(chan struct{}),
		known: map[string]*peer{}}
	p.queue = worker.NewQueue(worker.QueueConfig[string]{Name: "peer-discovery-cache-sync", Metrics: queues,
		FirstRetry: 100 * time.Millisecond, LastRetry: 30 * time.Second, Failed: p.failed}, p.work)
	return p
}

// run follows the peers until ctx is done.
func (p *peers) run(ctx context.Context) {
	p.queue.Start(ctx)
	var running worker.Group
	running.Keep(ctx, func(ctx context.Context) { p.config.Follow(ctx, p.seen, func() { p.queue.Add(allListed) }) })
	<-ctx.Done()
	p.queue.Wait()
	running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.known {
		peer.to.close()
	}
}

// seen adds a peer, or removes it if address is "".
func (p *peers) seen(identity, address string) {
	p.mu.Lock()
	have := p.known[identity]
	if have != nil && have.address != address {
		delete(p.known, identity)
		have.to.close()
	}
	if address != "" && p.known[identity] == nil {
		p.known[identity] = &peer{address: address, to: p.transports()}
	}
	p.mu.Unlock()
	if address != "" {
		p.queue.Add(identity) // its resources may have changed
	}
	if have != nil && have.address != address {
		p.onChange(slices.Collect(maps.Keys(have.serves)))
	}
}

func (p *peers) transports() *target {
	to := &target{}
	to.connect(func() (*http.Transport, error) {
		return transportOf(&tls.Config{RootCAs: p.config.Authorities, ServerName: peerServerName}, p.cert, nil), nil
	})
	return to
}

func (p *peers) work(ctx context.Context, identity string) error {
	if identity == allListed { // all peers queued before were requested
		p.requestedOnce.Do(func() { close(p.requested) })
		return nil
	}
	return p.sync(ctx, identity)
}

func (p *peers) failed(identity string, _ int, err error) {
	p.metrics.SyncFailed("fetch_discovery")
	klog.V(2).InfoS("Failed to read the discovery of peer, will retry", "peer", identity, "err", err)
}

// sync requests the discovery of a peer.
func (p *peers) sync(ctx context.Context, identity string) error {
	p.mu.Lock()
	known := p.known[identity]
	if known == nil {
		p.mu.Unlock()
		return nil
	}
	requested := *known
	p.mu.Unlock()
	serves, etag, err := fetchPeer(ctx, &requested)
	if err != nil || etag == requested.etag && etag != "" {
		return err
	}
	changed := map[schema.GroupVersion]bool{}
	for _, versions := range []map[schema.GroupVersion][]metav1.APIResource{requested.serves, serves} {
		for gv := range versions {
			changed[gv] = true
		}
	}
	p.mu.Lock()
	if p.known[identity] == known {
		known.serves, known.etag = serves, etag
	}
	p.mu.Unlock()
	p.onChange(slices.Collect(maps.Keys(changed)))
	return nil
}

// fetchPeer returns the discovery of a peer, without that of its peers, if it has changed since the last request.
func fetchPeer(ctx context.Context, p *peer) (map[schema.GroupVersion][]metav1.APIResource, string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.address+"/apis", nil)
	if err != nil {
		return nil, "", err
	}
	newIdentity(IdentityHeaders{}).setUser(r, peerUser)
	r.Header.Set("Accept", ownDiscovery)
	r.Header.Set(peerProxied, "true")
	if p.etag != "" {
		r.Header.Set("If-None-Match", p.etag)
	}
	resp, err := p.to.plain.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotModified {
		return nil, p.etag, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, "", &statusError{r.URL.String(), resp.StatusCode}
	}
	var body bytes.Buffer
	if n, err := io.Copy(&body, io.LimitReader(resp.Body, maxDocument)); err != nil || n == maxDocument {
		return nil, "", fmt.Errorf("reading the discovery of a peer: %w", errors.Join(err, ctx.Err()))
	}
	serves, err := aggregatedVersions(body.Bytes())
	return serves, resp.Header.Get("ETag"), err
}

// resources returns the resources of a group version that peers serve, without duplicates, ordered by the peers'
// identities.
func (p *peers) resources(gv schema.GroupVersion) (all []metav1.APIResource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, identity := range slices.Sorted(maps.Keys(p.known)) {
		all = withMissing(all, p.known[identity].serves[gv])
	}
	return all
}

// withMissing appends the resources that a list does not contain. It does not change the list.
func withMissing(list, more []metav1.APIResource) []metav1.APIResource {
	list = slices.Clip(list)
	for i := range more {
		if !slices.ContainsFunc(list, func(have metav1.APIResource) bool { return have.Name == more[i].Name }) {
			list = append(list, more[i])
		}
	}
	return list
}

// serving returns the peers that serve a resource.
func (p *peers) serving(gv schema.GroupVersion, resource string) (all []*peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.known {
		if slices.ContainsFunc(peer.serves[gv], func(r metav1.APIResource) bool { return r.Name == resource }) {
			all = append(all, peer)
		}
	}
	return all
}

// serve reports whether a peer serves a group version. It waits until the discovery of all peers was requested,
// and returns true if ctx is done before.
func (p *peers) serve(ctx context.Context, gv schema.GroupVersion) bool {
	select {
	case <-p.requested:
	case <-ctx.Done():
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.known {
		if _, ok := peer.serves[gv]; ok {
			return true
		}
	}
	return false
}

// host returns the URL of a peer.
func (p *peer) host() *url.URL { return &url.URL{Scheme: "https", Host: p.address} }
