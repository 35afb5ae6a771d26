package aggregator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	"k8s.io/utils/ptr"

	"triplane/internal/worker"
)

// recheck is how often an available external API server is asked again, which no
// event would report otherwise.
const recheck = 30 * time.Second

// availabilityWorkers is how many servers are asked at the same time; each may
// take seconds not to answer.
const availabilityWorkers = 10

// availability keeps the Available condition of remote APIServices true to what
// it finds: their Service, its EndpointSlices, and an answer of the server.
type availability struct {
	client   apiregistrationclient.APIServicesGetter
	services cache.Indexer // of APIServices, with byBackend
	backends *backends
	fetcher  *fetcher
	// learn is called after each check with what the server says it has, which is not current where
	// it does not say, or could not be asked.
	learn func(*apiregistrationv1.APIService, learned)
	// answered is called with how long the answer took.
	answered func(*apiregistrationv1.APIService, time.Duration)
	queue    workqueue.TypedRateLimitingInterface[string]
	// found is what the last check of an APIService said: an event that says the
	// same is no reason for another check.
	found sync.Map // of apiregistrationv1.APIServiceCondition by name
}

// byBackend indexes APIServices by the namespace and name of their Service.
const byBackend = "backend"

// backendIndex has nothing to say of local APIServices, of which there are many.
func backendIndex(obj any) ([]string, error) {
	if ref := obj.(*apiregistrationv1.APIService).Spec.Service; ref != nil {
		return []string{ref.Namespace + "/" + ref.Name}, nil
	}
	return nil, nil
}

func newAvailability(client apiregistrationclient.APIServicesGetter, services cache.Indexer,
	b *backends, f *fetcher, learn func(*apiregistrationv1.APIService, learned), answered func(*apiregistrationv1.APIService, time.Duration), m workqueue.MetricsProvider) *availability {
	return &availability{
		client: client, services: services, backends: b, fetcher: f, learn: learn, answered: answered,
		// Few servers are asked, and users wait for them: a failed check is
		// repeated soon, and seldom only after many.
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, recheck),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "remote_available_controller", MetricsProvider: m}),
	}
}

// run works until ctx ends.
func (a *availability) run(ctx context.Context) {
	var wg worker.Group
	for range availabilityWorkers {
		wg.Keep(ctx, func(ctx context.Context) {
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
// report the change that is waited for.
func (a *availability) sync(ctx context.Context, name string) (again bool, err error) {
	obj, ok, err := a.services.GetByKey(name)
	if err != nil {
		return false, err
	}
	if !ok {
		a.found.Delete(name)
		return false, nil
	}
	s := obj.(*apiregistrationv1.APIService)
	condition := localCondition()
	if s.Spec.Service != nil {
		f := a.check(ctx, s)
		if ctx.Err() != nil {
			return false, ctx.Err() // what a check says that was broken off is not so
		}
		a.learn(s, f.learned)
		if condition, again = f.condition, f.again; !again {
			a.queue.AddAfter(name, recheck)
		}
	}
	a.found.Store(name, condition)
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

// finding is what a check of a remote APIService found.
type finding struct {
	condition apiregistrationv1.APIServiceCondition
	again     bool // another try is due soon, as no event will report the change that is waited for
	learned   learned
}

// check looks for what is wrong with a remote APIService, the nearest first.
func (a *availability) check(ctx context.Context, s *apiregistrationv1.APIService) finding {
	if !a.backends.synced(ctx) {
		return finding{condition: unavailable("Unknown", "services are not known yet"), again: true}
	}
	ref := s.Spec.Service
	svc, err := a.backends.service(ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		return finding{condition: unavailable("ServiceNotFound", fmt.Sprintf("service/%s in %q is not present", ref.Name, ref.Namespace))}
	}
	if err != nil {
		return finding{condition: unavailable("ServiceAccessError", fmt.Sprintf("service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)), again: true}
	}
	if svc.Spec.Type == corev1.ServiceTypeClusterIP {
		if c := a.checkEndpoints(s, svc); c != nil {
			return finding{condition: *c}
		}
	}
	return a.checkDiscovery(ctx, s)
}

// checkEndpoints looks whether anybody stands behind the Service's port.
func (a *availability) checkEndpoints(s *apiregistrationv1.APIService, svc *corev1.Service) *apiregistrationv1.APIServiceCondition {
	port := port(s)
	where := fmt.Sprintf("service/%s in %q", svc.Name, svc.Namespace)
	sp, err := servicePort(svc, port)
	if err != nil {
		return ptr.To(unavailable("ServicePortError", fmt.Sprintf("%s is not listening on port %d", where, port)))
	}
	slices, err := a.backends.slicesOf(svc.Namespace, svc.Name)
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

// checkDiscovery asks the external server for its group version's document, in whatever form it has one. A server
// without one is not available, and may yet say what it has in its aggregated discovery.
func (a *availability) checkDiscovery(ctx context.Context, s *apiregistrationv1.APIService) finding {
	asked := time.Now()
	document, err := a.fetcher.get(ctx, s, discoveryPath(s), "")
	f := finding{condition: apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue,
		Reason: "Passed", Message: "all checks passed",
	}}
	if err != nil {
		f.condition, f.again = unavailable("FailedDiscoveryCheck", err.Error()), true
	} else {
		a.answered(s, time.Since(asked))
	}
	if !errors.Is(err, context.DeadlineExceeded) { // else there is nobody to ask again
		f.learned = a.resources(ctx, s, document)
	}
	f.again = f.again || !f.learned.current
	return f
}

// resources returns what an external server says it has: its aggregated discovery has the
// groups of kinds too, the document of the group version is what nearly all servers have.
func (a *availability) resources(ctx context.Context, s *apiregistrationv1.APIService, document []byte) learned {
	if whole, err := a.fetcher.get(ctx, s, "/apis", aggregatedDiscovery); err == nil {
		if l := learnAggregated(whole, groupVersion(s)); l.current {
			return l
		}
	}
	var list metav1.APIResourceList
	err := json.Unmarshal(document, &list)
	return learned{resources: list.APIResources, current: err == nil && list.Kind == "APIResourceList"}
}

func discoveryPath(s *apiregistrationv1.APIService) string {
	if s.Spec.Group == "" {
		return "/api/" + s.Spec.Version
	}
	return "/apis/" + s.Spec.Group + "/" + s.Spec.Version
}

func unavailable(reason, message string) apiregistrationv1.APIServiceCondition {
	return apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, Reason: reason, Message: message,
	}
}

// enqueue asks for a check of an APIService.
func (a *availability) enqueue(name string) {
	a.queue.Forget(name)
	a.queue.Add(name)
}

// changed asks for a check of an APIService that somebody changed. old is nil for
// one that is new here.
func (a *availability) changed(s, old *apiregistrationv1.APIService) {
	if old != nil && apiequality.Semantic.DeepEqual(s.Spec, old.Spec) && a.says(s) {
		return
	}
	if s.Spec.Service != nil || !saysAvailable(s, localCondition()) {
		a.enqueue(s.Name)
	}
}

// says reports whether an APIService says what the last check found.
func (a *availability) says(s *apiregistrationv1.APIService) bool {
	found, ok := a.found.Load(s.Name)
	return ok && saysAvailable(s, found.(apiregistrationv1.APIServiceCondition))
}

func saysAvailable(s *apiregistrationv1.APIService, want apiregistrationv1.APIServiceCondition) bool {
	c := available(s)
	return c != nil && c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
}

// backendChanged asks for a check of all APIServices of a Service.
func (a *availability) backendChanged(namespace, service string) {
	all, err := a.services.ByIndex(byBackend, namespace+"/"+service)
	if err != nil {
		return // the index is there
	}
	for _, obj := range all {
		a.enqueue(obj.(*apiregistrationv1.APIService).Name)
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
