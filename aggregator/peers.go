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

	"triplane/generic/base/metrics"
	"triplane/generic/base/user"
	"triplane/internal/worker"
)

// Peers are the other servers of the same storage, which may serve what this one does
// not: while a cluster is upgraded, servers are of two releases. See KEP-4020.
type Peers struct {
	// Follow calls seen with the identity and the host:port of each server other than this,
	// again whenever it shows that it lives, and with "" when it has gone, until ctx ends. It
	// calls listed after all that there are at first.
	Follow func(ctx context.Context, seen func(identity, address string), listed func())
	// Authorities verify their serving certificates.
	Authorities *x509.CertPool
}

const (
	// peerProxied marks requests that a peer passed on, which are not passed on again.
	peerProxied = "X-Kubernetes-Peer-Proxied"
	// ownDiscovery asks for the discovery of one server alone.
	ownDiscovery = aggregatedDiscovery + ";profile=nopeer"
	// peerServerName is in the serving certificates of all servers of a cluster.
	peerServerName = "kubernetes.default.svc"
	// allListed is in the queue of peers behind those that there are at first.
	allListed = ""
)

// peerUser is who asks peers for their discovery.
var peerUser = &user.Info{Name: "system:apiserver", UID: "system:apiserver", Groups: []string{user.AllAuthenticated}}

// peers knows what each peer serves. It is safe for concurrent use.
type peers struct {
	config   Peers
	cert     ClientCertificate
	metrics  *metrics.Peers
	queue    workqueue.TypedRateLimitingInterface[string]
	onChange func([]schema.GroupVersion)
	// asked is closed when all that there were at first have been asked what they serve.
	asked     chan struct{}
	askedOnce sync.Once

	mu    sync.Mutex
	known map[string]*peer // by identity
}

// peer is a server as it was last seen.
type peer struct {
	address string
	to      *target
	etag    string
	serves  map[schema.GroupVersion][]metav1.APIResource
}

// newPeers calls onChange with the group versions of which peers serve other resources
// than before.
func newPeers(config Peers, cert ClientCertificate, m *metrics.Registry, onChange func([]schema.GroupVersion)) *peers {
	return &peers{
		config: config, cert: cert, metrics: m.Peers, onChange: onChange, asked: make(chan struct{}), known: map[string]*peer{},
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](100*time.Millisecond, 30*time.Second),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "peer-discovery-cache-sync", MetricsProvider: m.Queues}),
	}
}

// run follows the peers until ctx ends.
func (p *peers) run(ctx context.Context) {
	var running worker.Group
	running.Keep(ctx, func(ctx context.Context) {
		for p.work(ctx) {
		}
	})
	running.Keep(ctx, func(ctx context.Context) { p.config.Follow(ctx, p.seen, func() { p.queue.Add(allListed) }) })
	<-ctx.Done()
	p.queue.ShutDown()
	running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, peer := range p.known {
		peer.to.close()
	}
}

// seen notes a peer, or that it has gone.
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
		p.queue.Add(identity) // what it serves may have changed
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

func (p *peers) work(ctx context.Context) bool {
	identity, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(identity)
	if identity == allListed { // what was added before has been asked
		p.askedOnce.Do(func() { close(p.asked) })
		return true
	}
	if err := p.sync(ctx, identity); err != nil && ctx.Err() == nil {
		p.metrics.Failed("fetch_discovery")
		klog.V(2).InfoS("The discovery of a peer cannot be read, will retry", "peer", identity, "err", err)
		p.queue.AddRateLimited(identity)
		return true
	}
	p.queue.Forget(identity)
	return true
}

// sync asks a peer what it serves.
func (p *peers) sync(ctx context.Context, identity string) error {
	p.mu.Lock()
	known := p.known[identity]
	if known == nil {
		p.mu.Unlock()
		return nil
	}
	asked := *known
	p.mu.Unlock()
	serves, etag, err := fetchPeer(ctx, &asked)
	if err != nil || etag == asked.etag && etag != "" {
		return err
	}
	changed := map[schema.GroupVersion]bool{}
	for _, versions := range []map[schema.GroupVersion][]metav1.APIResource{asked.serves, serves} {
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

// fetchPeer reads what a peer serves by itself, unless it is what was read before.
func fetchPeer(ctx context.Context, p *peer) (map[schema.GroupVersion][]metav1.APIResource, string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+p.address+"/apis", nil)
	if err != nil {
		return nil, "", err
	}
	newIdentity(IdentityHeaders{}).assume(r, peerUser)
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

// resources are those that peers serve of a group version, without duplicates, in the
// order of the peers' identities.
func (p *peers) resources(gv schema.GroupVersion) (all []metav1.APIResource) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, identity := range slices.Sorted(maps.Keys(p.known)) {
		all = withMissing(all, p.known[identity].serves[gv])
	}
	return all
}

// withMissing adds the resources that a list lacks. It does not change the list.
func withMissing(list, more []metav1.APIResource) []metav1.APIResource {
	list = slices.Clip(list)
	for i := range more {
		if !slices.ContainsFunc(list, func(have metav1.APIResource) bool { return have.Name == more[i].Name }) {
			list = append(list, more[i])
		}
	}
	return list
}

// serving are the peers that serve a resource.
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

// serve reports, once all that there were at first have been asked, whether a peer serves a
// group version. If ctx ends before, it may.
func (p *peers) serve(ctx context.Context, gv schema.GroupVersion) bool {
	select {
	case <-p.asked:
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

// host is where a peer is reached.
func (p *peer) host() *url.URL { return &url.URL{Scheme: "https", Host: p.address} }
