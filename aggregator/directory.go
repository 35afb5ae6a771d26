package aggregator

import (
	"net/http"
	"strings"
	"sync"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/aggregator/peermetrics"
	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/serve/requestmetrics"
)

// directory maps group versions to the proxies of their APIServices, and maintains discovery for all of them. It
// is safe for concurrent use.
type directory struct {
	local  *discovery.Groups // served by the delegates
	public *discovery.Groups // served to clients

	// own is public without resources that only peers serve, and peers proxies requests to them; nil without
	// peers.
	own   *discovery.Groups
	peers *peerProxy

	newProxy func() *proxyHandler
	cert     ClientCertificate

	mu              sync.RWMutex
	services        map[schema.GroupVersion]*apiregistrationv1.APIService
	proxies         map[schema.GroupVersion]*proxyHandler
	remoteDiscovery map[schema.GroupVersion]remoteDiscovery // of external servers
}

func newDirectory(local, public *discovery.Groups, newProxy func() *proxyHandler, cert ClientCertificate) *directory {
	return &directory{
		local: local, public: public, newProxy: newProxy, cert: cert,
		services:        map[schema.GroupVersion]*apiregistrationv1.APIService{},
		proxies:         map[schema.GroupVersion]*proxyHandler{},
		remoteDiscovery: map[schema.GroupVersion]remoteDiscovery{},
	}
}

// set adds or updates an APIService.
func (d *directory) set(s *apiregistrationv1.APIService) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gv := groupVersion(s)
	d.services[gv] = s
	if s.Spec.Service == nil {
		d.removeProxy(gv)
	} else {
		if d.proxies[gv] == nil {
			d.proxies[gv] = d.newProxy()
		}
		d.proxies[gv].update(s, d.cert)
	}
	d.publish(gv)
}

// remove deletes an APIService.
func (d *directory) remove(s *apiregistrationv1.APIService) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gv := groupVersion(s)
	delete(d.services, gv)
	d.removeProxy(gv)
	d.publish(gv)
}

func (d *directory) removeProxy(gv schema.GroupVersion) {
	if p := d.proxies[gv]; p != nil {
		p.close()
	}
	delete(d.proxies, gv)
	delete(d.remoteDiscovery, gv)
}

// setDiscovery updates the discovery of an external server. If it is not current, the previous resources remain.
func (d *directory) setDiscovery(s *apiregistrationv1.APIService, now remoteDiscovery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gv := groupVersion(s)
	known := d.remoteDiscovery[gv]
	if !now.current {
		now.resources, now.aggregated = known.resources, known.aggregated
	}
	if d.proxies[gv] == nil || known.current == now.current &&
		apiequality.Semantic.DeepEqual(known.resources, now.resources) &&
		apiequality.Semantic.DeepEqual(known.aggregated, now.aggregated) {
		return
	}
	d.remoteDiscovery[gv] = now
	d.publish(gv)
}

// each calls f for each APIService.
func (d *directory) each(f func(*apiregistrationv1.APIService)) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, s := range d.services {
		f(s)
	}
}

// localChanged handles a change of a group version that the delegates serve.
func (d *directory) localChanged(gv schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.publish(gv)
}

// publish updates discovery for one group version.
func (d *directory) publish(gv schema.GroupVersion) {
	if gv.Group == apiregistrationv1.GroupName {
		return // always public
	}
	v, ok := d.version(gv)
	if d.peers != nil {
		setServed(d.own, gv, v, ok)
		v = d.withPeers(gv, v)
	}
	setServed(d.public, gv, v, ok)
}

func setServed(in *discovery.Groups, gv schema.GroupVersion, v discovery.Version, ok bool) {
	if ok {
		in.Set(&v)
	} else {
		in.Remove(gv)
	}
}

// version returns the discovery of a group version, without resources of peers.
func (d *directory) version(gv schema.GroupVersion) (v discovery.Version, ok bool) {
	v, served := d.local.Get(gv)
	s := d.services[gv]
	switch {
	case s == nil && served && v.Custom:
		// Its APIService is about to be registered, or re-registered after a deletion. Clients that find the
		// version at its path, as envtest does, then expect it in the list of groups.
		return v, true
	case s == nil:
		// As at kube-apiserver, it is served, but only the aggregated form shows it: a server of another release or with
		// other versions may have deleted its APIService.
		v.Forms = discovery.AggregatedForm
		return v, served
	case s.Spec.Service != nil:
		l := d.remoteDiscovery[gv]
		v = discovery.Version{GroupVersion: gv, Resources: l.resources, Aggregated: l.aggregated, Stale: !l.current}
	case !served:
		v = discovery.Version{GroupVersion: gv, Forms: discovery.PlainForm} // of another server
	}
	v.GroupPriority, v.VersionPriority = s.Spec.GroupPriorityMinimum, s.Spec.VersionPriority
	return v, true
}

// withPeers adds the resources of a built-in group version that only peers serve, and proxies requests for them.
// All servers serve the CustomResourceDefinitions of the storage.
func (d *directory) withPeers(gv schema.GroupVersion, v discovery.Version) discovery.Version {
	s := d.services[gv]
	if s == nil || s.Spec.Service != nil || s.Labels[automanagedLabel] != onStart {
		d.peers.set(gv, nil)
		return v
	}
	own := v.List()
	all := withMissing(own, d.peers.peers.resources(gv))
	d.peers.set(gv, all[len(own):])
	if len(all) > len(own) {
		v.Resources, v.Later, v.Aggregated, v.Forms = all, nil, nil, 0
	}
	return v
}

// peersChanged handles changes of resources that peers serve.
func (d *directory) peersChanged(changed []schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, gv := range changed {
		d.publish(gv)
	}
}

// rootHandler serves /apis: all group versions to clients, and those of this server to peers that request them.
func (d *directory) rootHandler(m *peermetrics.Metrics) http.Handler {
	all := d.public.RootHandler()
	if d.peers == nil {
		return all
	}
	d.public.CountAggregated(m.AggregatedDiscovery)
	own := d.own.RootHandler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Accept"), "profile=nopeer") {
			m.OwnDiscovery()
			own.ServeHTTP(w, r)
			return
		}
		all.ServeHTTP(w, r)
	})
}

// ServeHTTP serves the paths below /apis that belong to APIServices, and delegates all others.
func (h *directoryHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	gv, rest := groupVersionAt(r.URL.Path)
	if !rest {
		h.public.GroupHandler(gv.Group, h.delegate).ServeHTTP(w, r)
		return
	}
	if p := h.proxy(gv); p != nil {
		request.MarkServer(r.Context(), requestmetrics.ByExternal)
		p.ServeHTTP(w, r)
		return
	}
	if h.peers != nil && h.peers.serve(w, r, gv) {
		return
	}
	h.delegate.ServeHTTP(w, r)
}

// directoryHandler is the directory in front of a delegate.
type directoryHandler struct {
	*directory
	delegate http.Handler
}

// groupVersionAt returns the group version in a path below /apis; rest is false if the path has no version.
func groupVersionAt(path string) (gv schema.GroupVersion, rest bool) {
	group, below, _ := strings.Cut(strings.TrimPrefix(path, "/apis/"), "/")
	version, _, _ := strings.Cut(below, "/")
	return schema.GroupVersion{Group: group, Version: version}, below != ""
}

// proxy returns the proxy of a group version, nil if it is not external.
func (d *directory) proxy(gv schema.GroupVersion) *proxyHandler {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.proxies[gv]
}

// close closes connections to external servers.
func (d *directory) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.proxies {
		p.close()
	}
}

// paths returns the paths of all groups and versions in discovery.
func (d *directory) paths() []string {
	var out []string
	for _, v := range d.public.Versions() {
		if v.GroupVersion.Group != "" && v.Forms != discovery.AggregatedForm {
			out = append(out, "/apis/"+v.GroupVersion.Group, "/apis/"+v.GroupVersion.String())
		}
	}
	return out
}
