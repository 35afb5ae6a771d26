package discovery

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/storage/wire"
)

// RootHandler answers /apis: the groups, or everything where the client asks for
// the aggregated form. As at kube-apiserver, /apis/ has no aggregated form.
func (g *Groups) RootHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if mt, ok := g.wantsAggregated(r); ok && r.URL.Path != "/apis/" {
			g.serveDocument(w, r, documentKey{aggregatedGroups, mt})
			return
		}
		out, err := negotiation.Negotiate(r, g.rules)
		if err != nil {
			responsewriters.WriteError(w, r, err)
			return
		}
		g.serveDocument(w, r, documentKey{plainGroups, out.MediaType})
	})
}

// LegacyHandler answers /api: the versions of the core group, or everything in
// them where the client asks for the aggregated form. Address is the host:port
// that clients are to use.
func (g *Groups) LegacyHandler(address string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept")
		if mt, ok := g.wantsAggregated(r); ok {
			g.serveDocument(w, r, documentKey{aggregatedCore, mt})
			return
		}
		doc := &metav1.APIVersions{
			TypeMeta:                   metav1.TypeMeta{Kind: "APIVersions"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: address}},
		}
		for _, v := range g.versionsOf("") {
			doc.Versions = append(doc.Versions, v.GroupVersion.Version)
		}
		g.serveObject(w, r, doc)
	})
}

// GroupHandler answers /apis/GROUP while the group is there; else notFound does.
func (g *Groups) GroupHandler(name string, notFound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc := g.apiGroup(name)
		if doc == nil {
			notFound.ServeHTTP(w, r)
			return
		}
		g.serveObject(w, r, doc)
	})
}

// HasGroup reports whether a group has a document.
func (g *Groups) HasGroup(name string) bool { return len(g.versionsOf(name)) > 0 }

// VersionHandler answers /apis/GROUP/VERSION while the version is there; else
// notFound does.
func (g *Groups) VersionHandler(gv schema.GroupVersion, notFound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok := g.Get(gv)
		if !ok {
			notFound.ServeHTTP(w, r)
			return
		}
		resources := v.List()
		if resources == nil {
			resources = []metav1.APIResource{}
		}
		g.serveObject(w, r, &metav1.APIResourceList{
			TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
			GroupVersion: gv.String(),
			APIResources: resources,
		})
	})
}

func (g *Groups) apiGroup(name string) *metav1.APIGroup {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.groups[name]
	if e == nil || len(e.listed(false)) == 0 {
		return nil
	}
	doc := e.apiGroup()
	doc.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	return doc
}

func (g *Groups) versionsOf(name string) []*Version {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.groups[name]; e != nil {
		return e.listed(false)
	}
	return nil
}

// serveDocument answers with a kept document, or with 304 to who has it.
func (g *Groups) serveDocument(w http.ResponseWriter, r *http.Request, key documentKey) {
	d, err := g.document(key)
	if err != nil {
		responsewriters.WriteError(w, r, err)
		return
	}
	h := w.Header()
	if d.etag == "" {
		h.Set("Content-Type", negotiation.Name(key.mediaType))
		g.write(w, r, d.body, key.mediaType)
		return
	}
	h.Set("ETag", d.etag)
	h.Set("Cache-Control", "public")
	if r.Header.Get("If-None-Match") == d.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", negotiation.Name(key.mediaType)+";g="+apidiscoveryv2.GroupName+";v=v2;as=APIGroupDiscoveryList")
	g.write(w, r, d.body, key.mediaType)
}

func (g *Groups) serveObject(w http.ResponseWriter, r *http.Request, obj runtime.Object) {
	out, err := negotiation.Negotiate(r, g.rules)
	if err != nil {
		responsewriters.WriteError(w, r, err)
		return
	}
	body, err := encode(obj, out.MediaType)
	if err != nil {
		responsewriters.WriteError(w, r, err)
		return
	}
	w.Header().Set("Content-Type", negotiation.Name(out.MediaType))
	g.write(w, r, body, out.MediaType)
}

func (g *Groups) write(w http.ResponseWriter, r *http.Request, body []byte, mt wire.MediaType) {
	if out, err := negotiation.Negotiate(r, g.rules); mt == wire.JSON && err == nil && out.Pretty {
		var b bytes.Buffer
		if json.Indent(&b, body, "", "  ") == nil {
			body = b.Bytes()
		}
	}
	if len(body) < negotiation.GzipFrom || !negotiation.AcceptsGzip(r) {
		_, _ = w.Write(body) // fails only on closed connections
		return
	}
	z := negotiation.StartGzip(w)
	_, _ = z.Write(body)
	_ = negotiation.EndGzip(z)
}

// wantsAggregated reports whether the client accepts the aggregated form, and how it is to be encoded. The plain form
// is chosen only without it, whatever their qualities, as kube-apiserver does.
func (g *Groups) wantsAggregated(r *http.Request) (wire.MediaType, bool) {
	header := r.Header.Get("Accept")
	if !strings.Contains(header, "APIGroupDiscoveryList") {
		return 0, false
	}
	for _, c := range goautoneg.ParseAccept(header) {
		mt, ok := g.mediaType(c)
		if !ok {
			continue
		}
		as, g, v := c.Params["as"], c.Params["g"], c.Params["v"]
		if as == "APIGroupDiscoveryList" && g == apidiscoveryv2.GroupName && v == "v2" {
			return mt, true
		}
	}
	return 0, false
}

func (g *Groups) mediaType(c goautoneg.Accept) (wire.MediaType, bool) {
	switch c.Type + "/" + c.SubType {
	case "application/json", "application/*", "*/*":
		return wire.JSON, true
	case "application/yaml":
		return wire.YAML, true
	case "application/vnd.kubernetes.protobuf":
		return wire.Protobuf, true
	case "application/cbor":
		return wire.CBOR, g.rules.CBOR
	}
	return 0, false
}
