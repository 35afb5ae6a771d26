package apiextensions

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane/apiextensions/conversion"
	"triplane/apiextensions/customresource"
	"triplane/apiextensions/customresourcedefinition"
	"triplane/apiextensions/validation"
	"triplane/generic/api/discovery"
	"triplane/generic/api/handlers"
	"triplane/generic/api/registry"
	"triplane/generic/base/metrics"
	"triplane/generic/base/request"
)

// crHandler answers the requests for custom resources.
type crHandler struct {
	delegate   http.Handler
	catalogue  *catalogue
	discovery  *discovery.Groups
	options    registry.RESTOptionsGetter
	converters *conversion.Factory
	shared     *shared
	metrics    *metrics.Registry
	gone       gone

	mu sync.Mutex
	// draining are what answered resources before their CRDs changed, while
	// requests that began then are under way.
	draining map[schema.GroupResource]*serving
}

// state belongs to one spec of a CRD.
type state struct {
	// stored is the CRD as storage holds it. Its status may be older.
	stored      atomic.Pointer[[]byte]
	terminating atomic.Bool
	mu          sync.Mutex
	gone        bool // nothing is made any more: another state has taken over
	serving     atomic.Pointer[serving]
	// taken is closed when the handler has taken leave of the state before; nil
	// where there was none.
	taken chan struct{}
}

// schemas returns the schemas of the versions that have one, as storage holds them.
func (s *state) schemas() (map[string][]byte, error) {
	return customresourcedefinition.Schemas(*s.stored.Load())
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
	res := h.catalogue.find(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
	if res == nil || !res.serves(info) {
		h.delegate.ServeHTTP(w, r)
		return
	}
	watch := info.Verb == "watch"
	s, err := h.use(r.Context(), res, watch)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			klog.FromContext(r.Context()).Error(err, "A custom resource cannot be served", "definition", res.crd.Name)
			err = apierrors.NewInternalError(errUnresolved)
		}
		handlers.WriteError(w, r, err)
		return
	}
	defer s.release(watch)
	if len(info.Parts) > 3 {
		s.notFound(w, r, info)
		return
	}
	handler, err := s.handler(info)
	switch {
	case err != nil:
		handlers.WriteError(w, r, err)
	case handler == nil:
		s.notFound(w, r, info)
	default:
		request.MarkServed(r.Context())
		handler(w, r)
	}
}

var errNoInfo = errors.New("no request info in the context")

// errUnresolved answers the requests for what the definition does not suffice to serve, such as
// one whose conversion webhook has an invalid CA bundle. The log says what is wrong.
var errUnresolved = errors.New("error resolving resource")

// notFound answers requests for subresources that the version does not have. It is as deprecated
// as what it has.
func (s *serving) notFound(w http.ResponseWriter, r *http.Request, info *request.Info) {
	if v := s.definition.Version(info.APIVersion); v != nil {
		if warning := v.DeprecationWarning(); warning != "" {
			request.AddWarning(r.Context(), warning)
		}
	}
	gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	handlers.WriteError(w, r, apierrors.NewNotFound(gr, info.Name))
}

// serves reports whether the CRD has what the request names.
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
	case len(parts) == 2 && parts[0] == "apis" && h.catalogue.group(parts[1]) != nil:
		h.discovery.GroupHandler(parts[1], h.delegate).ServeHTTP(w, r)
	case len(parts) == 3 && parts[0] == "apis" && h.catalogue.group(parts[1]) != nil:
		h.discovery.VersionHandler(schema.GroupVersion{Group: parts[1], Version: parts[2]}, h.delegate).ServeHTTP(w, r)
	default:
		h.delegate.ServeHTTP(w, r)
	}
}

// changed ends what was made for a CRD that was changed or removed. It is kept
// where only the status changed.
func (h *crHandler) changed(old, now *resource) {
	if old == nil || now != nil && now.state == old.state {
		return
	}
	h.retire(old)
	if now == nil {
		h.gone.add(old.resource())
		return
	}
	close(now.state.taken)
}

// retire lets the requests under way for a CRD come to their end, and then drops
// its cache, with which all watches end. The next store of the resource, which
// has the same keys, is made afterwards.
func (h *crHandler) retire(old *resource) {
	old.state.mu.Lock()
	old.state.gone = true
	s := old.state.serving.Swap(nil)
	old.state.mu.Unlock()
	if s == nil {
		return
	}
	gr := old.resource()
	h.mu.Lock()
	h.draining[gr] = s
	h.mu.Unlock()
	s.retire(func() {
		h.dropCache(old, s)
		h.mu.Lock()
		delete(h.draining, gr)
		h.mu.Unlock()
	})
}

func (res *resource) resource() schema.GroupResource { return named(res.crd.Name) }

func (h *crHandler) dropCache(res *resource, s *serving) {
	if opts, err := h.options.GetRESTOptions(res.resource()); err == nil && opts.DropCache != nil {
		opts.DropCache(s.store.Prefix())
	}
}

// serving returns what answers a resource, made on first use.
func (h *crHandler) serving(ctx context.Context, res *resource) (*serving, error) {
	if s := res.state.serving.Load(); s != nil {
		return s, nil
	}
	if err := h.waitForTurn(ctx, res); err != nil {
		return nil, err
	}
	res.state.mu.Lock()
	defer res.state.mu.Unlock()
	if res.state.gone {
		return nil, errGone
	}
	if s := res.state.serving.Load(); s != nil {
		return s, nil
	}
	s, err := h.makeServing(res)
	if err == nil {
		res.state.serving.Store(s)
	}
	return s, err
}

// waitForTurn waits until nobody needs what answered the resource before its CRD
// changed.
func (h *crHandler) waitForTurn(ctx context.Context, res *resource) error {
	if err := wait(ctx, res.state.taken); err != nil {
		return err
	}
	h.mu.Lock()
	before := h.draining[res.resource()]
	h.mu.Unlock()
	if before == nil {
		return nil
	}
	return wait(ctx, before.ended)
}

// wait returns when the channel, unless nil, is closed or the context ends.
func wait(ctx context.Context, done <-chan struct{}) error {
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *crHandler) makeServing(res *resource) (*serving, error) {
	converter, err := h.converters.Of(res.crd)
	if err != nil {
		return nil, err
	}
	d, err := customresource.New(res.crd, res.state.schemas, converter, h.shared.types, h.shared.expressions)
	if err != nil {
		return nil, err
	}
	opts, err := h.options.GetRESTOptions(res.resource())
	if err != nil {
		return nil, err
	}
	store, err := d.NewStore(opts, res.state.terminating.Load)
	if err != nil {
		return nil, err
	}
	s := &serving{definition: d, store: store, shared: h.shared, ended: make(chan struct{})}
	s.lastUsed.Store(time.Now().Unix())
	return s, nil
}
