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

	"triplane.dev/internal/worker"
)

// recheck is the interval at which available external API servers are checked, because no event reports that a
// server failed.
const recheck = 30 * time.Second

// availabilityWorkers is the number of concurrent checks; each may wait seconds for a timeout.
const availabilityWorkers = 10

// availability reconciles the Available condition of remote APIServices: it checks their Service, its
// EndpointSlices, and a response of the server.
type availability struct {
	availabilitySources
	availabilityReports
	client apiregistrationclient.APIServicesGetter
	queue  *worker.Queue[string]
	// found has the last condition of each APIService. An event with the same condition needs no further check.
	found sync.Map // of apiregistrationv1.APIServiceCondition by name
}

// availabilitySources are what availability reads.
type availabilitySources struct {
	services cache.Indexer // of APIServices, with byBackend
	backends *backends
	fetcher  *fetcher
}

// availabilityReports receive what checks find out about the server of an APIService.
type availabilityReports struct {
	// setDiscovery is called after each check with the server's discovery. It is not current if the server has none or
	// the request failed.
	setDiscovery func(*apiregistrationv1.APIService, remoteDiscovery)
	// answered is called with the latency of the response.
	answered func(*apiregistrationv1.APIService, time.Duration)
}

// byBackend indexes APIServices by the namespace and name of their Service.
const byBackend = "backend"

// backendIndex returns no keys for local APIServices, of which there are many.
func backendIndex(obj any) ([]string, error) {
	if ref := obj.(*apiregistrationv1.APIService).Spec.Service; ref != nil {
		return []string{ref.Namespace + "/" + ref.Name}, nil
	}
	return nil, nil
}

func newAvailability(client apiregistrationclient.APIServicesGetter, sources availabilitySources,
	reports availabilityReports, m workqueue.MetricsProvider) *availability {
	a := &availability{client: client, availabilitySources: sources, availabilityReports: reports}
	// Few servers are checked, and users wait for them: failed checks are retried quickly at first.
	a.queue = worker.NewQueue(worker.QueueConfig[string]{Name: "remote_available_controller", Metrics: m,
		Workers: availabilityWorkers, FirstRetry: 50 * time.Millisecond, LastRetry: recheck, Failed: failedCheck}, a.work)
	return a
}

// errAgain retries a check that did not fail.
var errAgain = errors.New("the check is repeated soon")

func failedCheck(name string, _ int, err error) {
	if !errors.Is(err, errAgain) && !apierrors.IsConflict(err) {
		klog.ErrorS(err, "Failed to update the availability of APIService", "apiService", name)
	}
}

func (a *availability) work(ctx context.Context, name string) error {
	again, err := a.sync(ctx, name)
	if err == nil && again {
		return errAgain
	}
	return err
}

// sync checks one APIService. again requests a retry soon, because no event reports the change that is waited for.
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
			return false, ctx.Err() // the result of an interrupted check is invalid
		}
		a.setDiscovery(s, f.remoteDiscovery)
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

// finding is the result of a check of a remote APIService.
type finding struct {
	condition       apiregistrationv1.APIServiceCondition
	again           bool // retry soon, because no event reports the change that is waited for
	remoteDiscovery remoteDiscovery
}

// check returns the first problem of a remote APIService: Service, endpoints, discovery.
func (a *availability) check(ctx context.Context, s *apiregistrationv1.APIService) finding {
	if !a.backends.synced(ctx) {
		return finding{condition: unavailable("Unknown", "services are not synced yet"), again: true}
	}
	ref := s.Spec.Service
	svc, err := a.backends.service(ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		return finding{condition: unavailable("ServiceNotFound",
			fmt.Sprintf("service/%s in %q is not present", ref.Name, ref.Namespace))}
	}
	if err != nil {
		return finding{condition: unavailable("ServiceAccessError",
			fmt.Sprintf("service/%s in %q cannot be checked due to: %v", ref.Name, ref.Namespace, err)), again: true}
	}
	if svc.Spec.Type == corev1.ServiceTypeClusterIP {
		if c := a.checkEndpoints(s, svc); c != nil {
			return finding{condition: *c}
		}
	}
	return a.checkDiscovery(ctx, s)
}

// checkEndpoints checks that the Service's port has endpoints.
func (a *availability) checkEndpoints(
	s *apiregistrationv1.APIService, svc *corev1.Service,
) *apiregistrationv1.APIServiceCondition {
	port := port(s)
	where := fmt.Sprintf("service/%s in %q", svc.Name, svc.Namespace)
	sp, err := servicePort(svc, port)
	if err != nil {
		return ptr.To(unavailable("ServicePortError", fmt.Sprintf("%s is not listening on port %d", where, port)))
	}
	slices, err := a.backends.slicesOf(svc.Namespace, svc.Name)
	if err != nil {
		return ptr.To(unavailable("EndpointsAccessError",
			fmt.Sprintf("endpointslices for %s cannot be checked due to: %v", where, err)))
	}
	if len(slices) == 0 {
		return ptr.To(unavailable("EndpointsNotFound", "cannot find endpointslices for "+where))
	}
	if len(readyAddresses(slices, sp.Name)) == 0 {
		return ptr.To(unavailable("MissingEndpoints",
			fmt.Sprintf("endpointslices for %s have no addresses with port name %q", where, sp.Name)))
	}
	return nil
}

// checkDiscovery requests the discovery document of the group version, in any format. A server without one is
// unavailable, but its aggregated discovery may still list resources.
func (a *availability) checkDiscovery(ctx context.Context, s *apiregistrationv1.APIService) finding {
	requested := time.Now()
	document, err := a.fetcher.get(ctx, s, discoveryPath(s), "")
	f := finding{condition: apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue,
		Reason: "Passed", Message: "all checks passed",
	}}
	if err != nil {
		f.condition, f.again = unavailable("FailedDiscoveryCheck", err.Error()), true
	} else {
		a.answered(s, time.Since(requested))
	}
	if !errors.Is(err, context.DeadlineExceeded) { // otherwise the server does not respond
		f.remoteDiscovery = a.resources(ctx, s, document)
	}
	f.again = f.again || !f.remoteDiscovery.current
	return f
}

// resources returns the discovery of an external server. Aggregated discovery contains the groups of kinds as
// well; the document of the group version is more widely supported.
func (a *availability) resources(
	ctx context.Context, s *apiregistrationv1.APIService, document []byte,
) remoteDiscovery {
	if whole, err := a.fetcher.get(ctx, s, "/apis", aggregatedDiscovery); err == nil {
		if l := parseAggregated(whole, groupVersion(s)); l.current {
			return l
		}
	}
	var list metav1.APIResourceList
	err := json.Unmarshal(document, &list)
	return remoteDiscovery{resources: list.APIResources, current: err == nil && list.Kind == "APIResourceList"}
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

// enqueue schedules a check of an APIService.
func (a *availability) enqueue(name string) {
	a.queue.Forget(name)
	a.queue.Add(name)
}

// changed schedules a check of an APIService after an update. old is nil for a new one.
func (a *availability) changed(s, old *apiregistrationv1.APIService) {
	if old != nil && apiequality.Semantic.DeepEqual(s.Spec, old.Spec) && a.upToDate(s) {
		return
	}
	if s.Spec.Service != nil || !hasCondition(s, localCondition()) {
		a.enqueue(s.Name)
	}
}

// upToDate reports whether an APIService has the condition of the last check.
func (a *availability) upToDate(s *apiregistrationv1.APIService) bool {
	found, ok := a.found.Load(s.Name)
	return ok && hasCondition(s, found.(apiregistrationv1.APIServiceCondition))
}

func hasCondition(s *apiregistrationv1.APIService, want apiregistrationv1.APIServiceCondition) bool {
	c := available(s)
	return c != nil && c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
}

// backendChanged schedules a check of all APIServices of a Service.
func (a *availability) backendChanged(namespace, service string) {
	all, err := a.services.ByIndex(byBackend, namespace+"/"+service)
	if err != nil {
		return // the index exists
	}
	for _, obj := range all {
		a.enqueue(obj.(*apiregistrationv1.APIService).Name)
	}
}

// backendHandler schedules checks for events of Services and EndpointSlices.
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
