package aggregator

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	apiregistrationlisters "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"
	"k8s.io/utils/ptr"
)

// recheck is how often an available external API server is asked again, which no
// event would tell otherwise.
const recheck = 30 * time.Second

// availability keeps the Available condition of remote APIServices true to what
// it finds: their Service, its EndpointSlices, and an answer of the server.
type availability struct {
	client   apiregistrationclient.APIServicesGetter
	services apiregistrationlisters.APIServiceLister
	backends *backends
	resolver ServiceResolver
	cert     ClientCertificate
	// learn is told what a server that answers has.
	learn func(schema.GroupVersion, []metav1.APIResource)
	queue workqueue.TypedRateLimitingInterface[string]
}

func newAvailability(client apiregistrationclient.APIServicesGetter, services apiregistrationlisters.APIServiceLister,
	b *backends, resolver ServiceResolver, cert ClientCertificate, learn func(schema.GroupVersion, []metav1.APIResource)) *availability {
	return &availability{
		client: client, services: services, backends: b, resolver: resolver, cert: cert, learn: learn,
		// Few servers are asked, and users wait for them: a failed check is
		// repeated soon, and seldom only after many.
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, recheck)),
	}
}

// run works until ctx ends.
func (a *availability) run(ctx context.Context) {
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for a.work(ctx) {
			}
		})
	}
	<-ctx.Done()
	a.queue.ShutDown()
	wg.Wait()
}

func (a *availability) work(ctx context.Context) bool {
	name, shutdown := a.queue.Get()
	if shutdown {
		return false
	}
	defer a.queue.Done(name)
	again, err := a.sync(ctx, name)
	switch {
	case err != nil:
		if ctx.Err() == nil && !apierrors.IsConflict(err) {
			klog.ErrorS(err, "Cannot update the availability of an APIService", "apiService", name)
		}
		a.queue.AddRateLimited(name)
	case again:
		a.queue.AddRateLimited(name)
	default:
		a.queue.Forget(name)
	}
	return true
}

// sync checks one APIService. again asks for another try soon, as no event will
// tell of the change that is waited for.
func (a *availability) sync(ctx context.Context, name string) (again bool, err error) {
	s, err := a.services.Get(name)
	if apierrors.IsNotFound(err) {
		a.queue.Forget(name)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	condition := localCondition()
	if s.Spec.Service != nil {
		a.backends.start()
		condition, again = a.check(ctx, s)
		if !again {
			a.queue.AddAfter(name, recheck)
		}
	}
	s = s.DeepCopy()
	if !setAvailable(s, condition) {
		return again, nil
	}
	_, err = a.client.APIServices().UpdateStatus(ctx, s, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return again, err
}

// check looks for what is wrong with a remote APIService, the nearest first.
func (a *availability) check(ctx context.Context, s *apiregistrationv1.APIService) (_ apiregistrationv1.APIServiceCondition, again bool) {
	if !a.backends.synced(ctx) {
		return unavailable("Unknown", "services are not known yet"), true
	}
	ref := s.Spec.Service
	svc, err := a.backends.services.Services(ref.Namespace).Get(ref.Name)
	if apierrors.IsNotFound(err) {
		return unavailable("ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", ref.Name, ref.Namespace)), false
	}
	if err != nil {
		return unavailable("ServiceAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)), true
	}
	if svc.Spec.Type == corev1.ServiceTypeClusterIP {
		if c := a.checkEndpoints(s, svc); c != nil {
			return *c, false
		}
	}
	if err := a.checkDiscovery(ctx, s); err != nil {
		return unavailable("FailedDiscoveryCheck", err.Error()), true
	}
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue,
		Reason: "Passed", Message: "all checks passed",
	}, false
}

// checkEndpoints looks whether anybody stands behind the Service's port.
func (a *availability) checkEndpoints(s *apiregistrationv1.APIService, svc *corev1.Service) *apiregistrationv1.APIServiceCondition {
	port := ptr.Deref(s.Spec.Service.Port, 443)
	where := fmt.Sprintf("service/%s in %q", svc.Name, svc.Namespace)
	sp, err := servicePort(svc, port)
	if err != nil {
		return ptr.To(unavailable("ServicePortError", fmt.Sprintf("%s is not listening on port %d", where, port)))
	}
	slices, err := slicesOf(a.backends.slices, svc.Namespace, svc.Name)
	if err != nil {
		return ptr.To(unavailable("EndpointsAccessError", fmt.Sprintf("endpointslices for %s cannot be checked due to: %v", where, err)))
	}
	if len(slices) == 0 {
		return ptr.To(unavailable("EndpointsNotFound", "cannot find endpointslices for "+where))
	}
	if len(readyAddresses(slices, sp.Name)) == 0 {
		return ptr.To(unavailable("MissingEndpoints", fmt.Sprintf("endpointslices for %s have no addresses with port name %q", where, sp.Name)))
	}
	return nil
}

// checkDiscovery asks the external server for its group version's document.
func (a *availability) checkDiscovery(ctx context.Context, s *apiregistrationv1.APIService) error {
	t, err := newTransport(s, a.cert, false)
	if err != nil {
		return err
	}
	defer t.CloseIdleConnections()
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	body, err := fetch(ctx, t, a.resolver, s, discoveryPath(s), "application/json")
	if err != nil {
		return fmt.Errorf("failing or missing response from %w", err)
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(body, &list); err == nil {
		a.learn(groupVersion(s), list.APIResources)
	}
	return nil
}

func discoveryPath(s *apiregistrationv1.APIService) string {
	if s.Spec.Group == "" {
		return "/api/" + s.Spec.Version
	}
	return "/apis/" + s.Spec.Group + "/" + s.Spec.Version
}

// fetch gets a document of an external API server as the aggregator's own user.
func fetch(ctx context.Context, t http.RoundTripper, resolver ServiceResolver, s *apiregistrationv1.APIService, path, accept string) ([]byte, error) {
	ref := s.Spec.Service
	u, err := resolver.ResolveEndpoint(ref.Namespace, ref.Name, *ref.Port)
	if err != nil {
		return nil, err
	}
	u.Path = path
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	outgoing(r, u, aggregatorUser)
	r.Header.Set("Accept", accept)
	resp, err := t.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("%s: Get %q: %w", u, u, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", u, err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, fmt.Errorf("%s: bad status from %s: %d", u, u, resp.StatusCode)
	}
	return body, nil
}

func unavailable(reason, message string) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: reason, Message: message,
	}
}

// enqueue asks for a check of an APIService.
func (a *availability) enqueue(s *apiregistrationv1.APIService) {
	a.queue.Forget(s.Name)
	a.queue.Add(s.Name)
}

// backendChanged asks for a check of all APIServices of a Service.
func (a *availability) backendChanged(namespace, service string) {
	all, err := a.services.List(everything)
	if err != nil {
		return
	}
	for _, s := range all {
		if ref := s.Spec.Service; ref != nil && ref.Namespace == namespace && ref.Name == service {
			a.enqueue(s)
		}
	}
}

// backendHandler makes of Service and EndpointSlice events checks.
func (a *availability) backendHandler() cache.ResourceEventHandler {
	on := func(obj any) {
		if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = tombstone.Obj
		}
		switch x := obj.(type) {
		case *corev1.Service:
			a.backendChanged(x.Namespace, x.Name)
		case *discoveryv1.EndpointSlice:
			a.backendChanged(x.Namespace, x.Labels[discoveryv1.LabelServiceName])
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: on, UpdateFunc: func(_, obj any) { on(obj) }, DeleteFunc: on}
}
