package aggregator

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/httpstream"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/requestmetrics"
)

// peerProxy proxies requests for resources that only peers serve.
type peerProxy struct {
	peers *peers
	proxy *proxyHandler
	// only are the resources of built-in group versions that peers serve and this server does not. The map is
	// replaced atomically, so that requests need no lock.
	only atomic.Pointer[map[schema.GroupVersionResource]bool]
}

func newPeerProxy(p *peers, identity *identity) *peerProxy {
	return &peerProxy{peers: p, proxy: &proxyHandler{
		identity: identity,
		mark:     func(out *http.Request) { out.Header.Set(peerProxied, "true") },
		answered: func(r *http.Request, code int) {
			info := request.StateFrom(r.Context()).Info
			p.metrics.Proxied(info.APIGroup, info.APIVersion, info.Resource, code)
		},
	}}
}

// serve proxies a request for a resource of a peer, and reports whether it did.
func (p *peerProxy) serve(w http.ResponseWriter, r *http.Request, gv schema.GroupVersion) bool {
	state, u := request.StateFrom(r.Context()), request.UserFrom(r.Context())
	if state == nil || u == nil || state.Info == nil || !state.Info.IsResourceRequest ||
		!p.has(gv.WithResource(state.Info.Resource)) || r.Header.Get(peerProxied) != "" {
		return false
	}
	able := p.peers.serving(gv, state.Info.Resource)
	if len(able) == 0 {
		return false
	}
	request.MarkServer(r.Context(), requestmetrics.ByExternal)
	chosen := able[rand.IntN(len(able))]
	if httpstream.IsUpgradeRequest(r) {
		p.proxy.upgrade(w, r, chosen.to, chosen.host(), u)
		return true
	}
	p.proxy.forward(w, r, chosen.to, chosen.host(), u)
	return true
}

// has reports whether only peers serve a resource.
func (p *peerProxy) has(gvr schema.GroupVersionResource) bool {
	only := p.only.Load()
	return only != nil && (*only)[gvr]
}

// set replaces the resources of a group version that only peers serve.
func (p *peerProxy) set(gv schema.GroupVersion, resources []metav1.APIResource) {
	next := map[schema.GroupVersionResource]bool{}
	if old := p.only.Load(); old != nil {
		for gvr := range *old {
			if gvr.GroupVersion() != gv {
				next[gvr] = true
			}
		}
	}
	for i := range resources {
		if name := resources[i].Name; !strings.Contains(name, "/") {
			next[gv.WithResource(name)] = true
		}
	}
	p.only.Store(&next)
}
