package aggregator

import (
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/serve/mux"
)

// Rules by which the aggregator claims a path.
const (
	ruleAPIService mux.Rule = "APIService" // of an external server
	rulePeer       mux.Rule = "peer"       // another server of the same storage serves it
	ruleDiscovery  mux.Rule = "discovery"  // the document of a group
)

// Claims implements server.Claimant: it returns the external servers.
func (h *directoryHandler) Claims() []mux.Claim {
	h.mu.RLock()
	defer h.mu.RUnlock()
	claims := make([]mux.Claim, 0, len(h.proxies))
	for gv, p := range h.proxies {
		claims = append(claims, p.claim(gv))
	}
	return claims
}

// ClaimOf implements server.Claimant.
func (h *directoryHandler) ClaimOf(q mux.Inquiry) (mux.Claim, bool) {
	gv, rest := groupVersionAt(q.Info.Path)
	if !rest {
		return mux.Claim{Path: "/apis/" + gv.Group, Rule: ruleDiscovery}, h.public.HasGroup(gv.Group)
	}
	if p := h.proxy(gv); p != nil {
		return p.claim(gv), true
	}
	if h.peers != nil && h.peers.has(gv.WithResource(q.Info.Resource)) {
		return mux.Claim{Path: "/apis/" + gv.String() + "/" + q.Info.Resource, Rule: rulePeer}, true
	}
	return mux.Claim{}, false
}

// claim describes an external server.
func (h *proxyHandler) claim(gv schema.GroupVersion) mux.Claim {
	t := h.target.Load()
	s := t.service
	e := &mux.External{
		Service:   fmt.Sprintf("%s/%s:%d", s.Spec.Service.Namespace, s.Spec.Service.Name, port(s)),
		Available: t.available,
		Requests:  h.traffic.requests.Load(), Failed: h.traffic.failed.Load(),
		LatencySeconds: time.Duration(h.traffic.latency.Load()).Seconds(),
	}
	if c := available(s); c != nil {
		e.Reason, e.Message = c.Reason, c.Message
	}
	return mux.Claim{Path: "/apis/" + gv.String(), Rule: ruleAPIService, Object: s.Name, External: e}
}

// traffic has statistics of an external server. It is safe for concurrent use.
type traffic struct {
	requests, failed atomic.Uint64
	latency          atomic.Int64 // nanoseconds, a moving average
}

// answered counts a request that was sent.
func (t *traffic) answered(took time.Duration, failed bool) {
	t.requests.Add(1)
	if failed {
		t.failed.Add(1)
	}
	t.took(took)
}

// latencyWeight is the inverse weight of a response in the moving average.
const latencyWeight = 8

// took records the latency of a response. Concurrent updates may be lost, which is acceptable for an average.
func (t *traffic) took(d time.Duration) {
	old := t.latency.Load()
	if old == 0 {
		t.latency.Store(int64(d))
		return
	}
	t.latency.Store(old + (int64(d)-old)/latencyWeight)
}

// answered records the latency of an availability check.
func (d *directory) answered(s *apiregistrationv1.APIService, took time.Duration) {
	if p := d.proxy(groupVersion(s)); p != nil {
		p.traffic.took(took)
	}
}
