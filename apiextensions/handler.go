package apiextensions

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"triplane.dev/apiextensions/conversion"
	"triplane.dev/apiextensions/customresource"
	"triplane.dev/apiextensions/validation"
	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/request"
)

// crHandler answers the requests for custom resources.
type crHandler struct {
	delegate  http.Handler
	catalogue *catalogue
	// catchUp returns when a CRD that clients can read is in the catalogue as they read it: one that has read that it is
	// established may use it at once.
	catchUp    func(ctx context.Context, gr schema.GroupResource, known *entry)
	discovery  *discovery.Groups
	options    registry.RESTOptionsGetter
	converters *conversion.Factory
	shared     *shared
	metrics    *metrics.Registry
	removals   removals

	mu sync.Mutex
	// draining are what answered resources before their CRDs changed, while
	// requests that began then are under way.
	draining map[schema.GroupResource]*endpoint
}

// acrossNamespaces are the verbs that a namespaced resource has without one.
func acrossNamespaces(verb string) bool { return verb == "list" || verb == "watch" }

func (h *crHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info := request.InfoFrom(r.Context())
	if info == nil {
		responsewriters.WriteError(w, r, apierrors.NewInternalError(errNoInfo))
		return
	}
	if !info.IsResourceRequest {
		h.serveDiscovery(w, r)
		return
	}
	res := h.find(r.Context(), info)
	if res == nil {
		h.delegate.ServeHTTP(w, r)
		return
	}
	watch := info.Verb == "watch"
	s, err := h.acquire(r.Context(), res, watch)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			klog.FromContext(r.Context()).Error(err, "A custom resource cannot be served", "definition", res.crd.Name)
			err = apierrors.NewInternalError(errUnresolved)
		}
		responsewriters.WriteError(w, r, err)
		return
	}
	if state := request.StateFrom(r.Context()); watch && state != nil {
		defer state.AtEnd(func(any) { s.release(true) })
	} else {
		defer s.release(watch)
	}
	handler, err := s.handler(info)
	switch {
	case err != nil:
		responsewriters.WriteError(w, r, err)
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
func (s *endpoint) notFound(w http.ResponseWriter, r *http.Request, info *request.Info) {
	if v := s.definition.Version(info.APIVersion); v != nil {
		if warning := v.DeprecationWarning(); warning != "" {
			request.AddWarning(r.Context(), warning)
		}
	}
	gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	responsewriters.WriteError(w, r, apierrors.NewNotFound(gr, info.Name))
}

// find returns the CRD that serves a request, nil where there is none.
func (h *crHandler) find(ctx context.Context, info *request.Info) *entry {
	gr := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	res := h.catalogue.find(gr)
	if res == nil || !res.serves(info) {
		h.catchUp(ctx, gr, res)
		if res = h.catalogue.find(gr); res == nil || !res.serves(info) {
			return nil
		}
	}
	return res
}

// serves reports whether the CRD has what the request names.
func (res *entry) serves(info *request.Info) bool {
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
func (h *crHandler) changed(old, now *entry) {
	if old == nil || now != nil && now.generation == old.generation {
		return
	}
	h.retire(old)
	if now == nil {
		h.removals.add(old.groupResource())
		return
	}
	close(now.generation.retired)
}

// retire lets the requests under way for a CRD come to their end, and then drops
// its cache, with which all watches end. The next store of the resource, which
// has the same keys, is made afterwards.
func (h *crHandler) retire(old *entry) {
	old.generation.mu.Lock()
	old.generation.replaced = true
	s := old.generation.endpoint.Swap(nil)
	old.generation.mu.Unlock()
	if s == nil {
		return
	}
	gr := old.groupResource()
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

func (res *entry) groupResource() schema.GroupResource { return named(res.crd.Name) }

func (h *crHandler) dropCache(res *entry, s *endpoint) {
	if opts, err := h.options.GetRESTOptions(res.groupResource()); err == nil && opts.DropCache != nil {
		opts.DropCache(s.store.Prefix())
	}
}

// endpoint returns what answers a resource, made on first use.
func (h *crHandler) endpoint(ctx context.Context, res *entry) (*endpoint, error) {
	if s := res.generation.endpoint.Load(); s != nil {
		return s, nil
	}
	if err := h.waitForTurn(ctx, res); err != nil {
		return nil, err
	}
	res.generation.mu.Lock()
	defer res.generation.mu.Unlock()
	if res.generation.replaced {
		return nil, errReplaced
	}
	if s := res.generation.endpoint.Load(); s != nil {
		return s, nil
	}
	s, err := h.newEndpoint(res)
	if err == nil {
		res.generation.endpoint.Store(s)
	}
	return s, err
}

// waitForTurn waits until the endpoint from before the CRD's change is released.
func (h *crHandler) waitForTurn(ctx context.Context, res *entry) error {
	if err := wait(ctx, res.generation.retired); err != nil {
		return err
	}
	h.mu.Lock()
	before := h.draining[res.groupResource()]
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

func (h *crHandler) newEndpoint(res *entry) (*endpoint, error) {
	converter, err := h.converters.Of(res.crd)
	if err != nil {
		return nil, err
	}
	d, err := customresource.New(res.crd, res.generation.schemas, converter, h.shared.types, h.shared.expressions)
	if err != nil {
		return nil, err
	}
	opts, err := h.options.GetRESTOptions(res.groupResource())
	if err != nil {
		return nil, err
	}
	store, err := d.NewStore(opts, res.generation.terminating.Load)
	if err != nil {
		return nil, err
	}
	s := &endpoint{definition: d, store: store, shared: h.shared, ended: make(chan struct{})}
	s.lastUsed.Store(time.Now().Unix())
	return s, nil
}
