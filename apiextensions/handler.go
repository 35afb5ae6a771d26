package apiextensions

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/btree"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/apiextensions/validation"
	"triplane/generic/discovery"
	"triplane/generic/endpoints/handlers"
	"triplane/generic/registry"
	"triplane/generic/request"
)

// crHandler answers the requests for custom resources. Which there are is in a
// copy-on-write tree, so that a request takes no lock and a thousand CRDs can
// come one by one.
type crHandler struct {
	delegate   http.Handler
	discovery  *discovery.Groups
	options    registry.RESTOptionsGetter
	converters *converterFactory
	scope      scopeOptions

	mu        sync.Mutex // of writers
	resources atomic.Pointer[btree.Map[string, *resource]]
}

// resource is a CRD that is known, by its name "PLURAL.GROUP". What it shares
// with the resource before an update of its status is in state.
type resource struct {
	crd   *apiextensionsv1.CustomResourceDefinition
	state *state
}

// state belongs to one spec of a CRD.
type state struct {
	terminating atomic.Bool
	mu          sync.Mutex
	gone        bool // nothing is made any more: another state has taken over
	serving     atomic.Pointer[serving]
}

// acrossNamespaces are the verbs that a namespaced resource has without one.
func acrossNamespaces(verb string) bool { return verb == "list" || verb == "watch" }

func (h *crHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.InfoFrom(r.Context())
	if info == nil {
		handlers.WriteError(w, r, apierrors.NewInternalError(errNoInfo))
		return
	}
	if !info.IsResourceRequest {
		h.serveDiscovery(w, r)
		return
	}
	res := h.find(info.Resource + "." + info.APIGroup)
	if res == nil || !res.serves(info) {
		h.delegate.ServeHTTP(w, r)
		return
	}
	s, err := h.use(res)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			err = apierrors.NewInternalError(err)
		}
		handlers.WriteError(w, r, err)
		return
	}
	defer s.release()
	if len(info.Parts) > 3 {
		h.notFound(w, r, info)
		return
	}
	handler, err := s.handler(info)
	switch {
	case err != nil:
		handlers.WriteError(w, r, err)
	case handler == nil:
		h.notFound(w, r, info)
	default:
		request.MarkServed(r.Context())
		handler(w, r)
	}
}

func (h *crHandler) notFound(w http.ResponseWriter, r *http.Request, info *request.Info) {
	gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	handlers.WriteError(w, r, apierrors.NewNotFound(gr, info.Name))
}

// serves tells whether the CRD has what the request names.
func (res *resource) serves(info *request.Info) bool {
	crd := res.crd
	if !validation.IsTrue(crd, apiextensionsv1.NamesAccepted) && !validation.IsTrue(crd, apiextensionsv1.Established) {
		return false
	}
	namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	if !namespaced && info.Namespace != "" || namespaced && info.Namespace == "" && !acrossNamespaces(info.Verb) {
		return false
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Name == info.APIVersion {
			return v.Served
		}
	}
	return false
}

// serveDiscovery answers /apis/GROUP and /apis/GROUP/VERSION.
func (h *crHandler) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "apis" && h.hasGroup(parts[1]):
		h.discovery.GroupHandler(parts[1], h.delegate).ServeHTTP(w, r)
	case len(parts) == 3 && parts[0] == "apis" && h.hasGroup(parts[1]):
		h.discovery.VersionHandler(schema.GroupVersion{Group: parts[1], Version: parts[2]}, h.delegate).ServeHTTP(w, r)
	default:
		h.delegate.ServeHTTP(w, r)
	}
}

// hasGroup tells whether any CRD is of the group.
func (h *crHandler) hasGroup(group string) bool {
	found := false
	h.resources.Load().Scan(func(_ string, res *resource) bool {
		found = res.crd.Spec.Group == group
		return !found
	})
	return found
}

func (h *crHandler) find(name string) *resource {
	res, _ := h.resources.Load().Get(name)
	return res
}

// set enters a CRD, new or changed. What was made for the one before is kept
// where only its status changed.
func (h *crHandler) set(crd *apiextensionsv1.CustomResourceDefinition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	res := &resource{crd: crd, state: &state{}}
	var replaced *resource
	if old := h.find(crd.Name); old != nil && old.crd.UID == crd.UID &&
		equality.Semantic.DeepEqual(old.crd.Spec, crd.Spec) && equality.Semantic.DeepEqual(old.crd.Status.AcceptedNames, crd.Status.AcceptedNames) {
		res.state = old.state
	} else {
		replaced = old
	}
	res.state.terminating.Store(crd.DeletionTimestamp != nil)
	next := h.resources.Load().Copy()
	next.Set(crd.Name, res)
	h.resources.Store(next)
	if replaced != nil {
		h.drop(replaced)
	}
}

// remove forgets a CRD.
func (h *crHandler) remove(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.find(name)
	if old == nil {
		return
	}
	next := h.resources.Load().Copy()
	next.Delete(name)
	h.resources.Store(next)
	h.drop(old)
}

// drop ends what was made for a CRD: its cache, and with it all watches.
func (h *crHandler) drop(old *resource) {
	old.state.mu.Lock()
	defer old.state.mu.Unlock()
	old.state.gone = true
	s := old.state.serving.Swap(nil)
	if s != nil {
		h.dropCache(old, s)
	}
}

func (h *crHandler) dropCache(res *resource, s *serving) {
	gr := schema.GroupResource{Group: res.crd.Spec.Group, Resource: res.crd.Spec.Names.Plural}
	if opts, err := h.options.GetRESTOptions(gr); err == nil && opts.DropCache != nil {
		opts.DropCache(opts.Prefix + "/" + s.store.Kind().Prefix + "/")
	}
}

// serving returns what answers a resource, made on first use.
func (h *crHandler) serving(res *resource) (*serving, error) {
	if s := res.state.serving.Load(); s != nil {
		return s, nil
	}
	res.state.mu.Lock()
	defer res.state.mu.Unlock()
	if res.state.gone {
		return nil, errGone
	}
	if s := res.state.serving.Load(); s != nil {
		return s, nil
	}
	converter, err := h.converters.of(res.crd)
	if err != nil {
		return nil, err
	}
	d, err := newDefinition(res.crd, converter)
	if err != nil {
		return nil, err
	}
	opts, err := h.options.GetRESTOptions(schema.GroupResource{Group: res.crd.Spec.Group, Resource: res.crd.Spec.Names.Plural})
	if err != nil {
		return nil, err
	}
	store, err := newStore(d, opts, res.state.terminating.Load)
	if err != nil {
		return nil, err
	}
	s := &serving{definition: d, store: store, scope: h.scope}
	s.lastUsed.Store(time.Now().Unix())
	res.state.serving.Store(s)
	return s, nil
}
