package aggregator

import (
	"context"
	"errors"
	"sync"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	apiregistrationlisters "k8s.io/kube-aggregator/pkg/client/listers/apiregistration/v1"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/internal/worker"
)

const (
	// automanagedLabel labels the APIServices that are registered automatically.
	automanagedLabel = "kube-aggregator.kubernetes.io/automanaged"
	// onStart is its value for built-in group versions, always for those of CRDs.
	onStart = "onstart"
	always  = "true"

	autoregisterWorkers = 8
)

var everything = labels.Everything()

// autoregister registers an APIService for each group version that the delegates serve.
type autoregister struct {
	client   apiregistrationclient.APIServicesGetter
	services apiregistrationlisters.APIServiceLister
	servedVersions
	queue     *worker.Queue[schema.GroupVersion]
	following *discovery.Following // of local
	stale     worker.Group
	begun     bool // the queue was started; only the follower of local uses it
	// synced has the group versions that were registered once. Built-in ones are not changed afterwards, so that
	// administrators can change them.
	synced sync.Map // of struct{} by schema.GroupVersion
	// done is closed when all group versions that were served at the start are registered; left has those that are
	// not yet.
	done chan struct{}
	mu   sync.Mutex // guards left
	left map[schema.GroupVersion]struct{}
	// found are the names of the APIServices that existed at the start. Of built-in group versions only these are
	// deleted, and once: a later one belongs to a server of another release.
	found sync.Map // of struct{} by string
}

// servedVersions are the group versions that the servers of a storage serve.
type servedVersions struct {
	local *discovery.Groups
	// complete is closed when local contains all CRDs that existed at the start. No APIService is deleted before.
	complete <-chan struct{}
	// elsewhere reports whether another server serves a group version. It may block until the peers are known.
	elsewhere func(context.Context, schema.GroupVersion) bool
}

func newAutoregister(client apiregistrationclient.APIServicesGetter, services apiregistrationlisters.APIServiceLister,
	served servedVersions, m workqueue.MetricsProvider) *autoregister {
	a := &autoregister{client: client, services: services, servedVersions: served, done: make(chan struct{})}
	a.queue = worker.NewQueue(worker.QueueConfig[schema.GroupVersion]{Name: "autoregister", Metrics: m,
		Workers: autoregisterWorkers, FirstRetry: 5 * time.Millisecond, LastRetry: time.Minute, Failed: failedRegistration},
		a.sync)
	return a
}

func failedRegistration(gv schema.GroupVersion, _ int, err error) {
	klog.V(2).InfoS("Failed to register local APIService, will retry", "groupVersion", gv, "err", err)
}

// Start implements worker.Runner. The lister must be synced.
func (a *autoregister) Start(ctx context.Context) {
	a.findAll()
	a.following = a.local.Following(func(ctx context.Context, changed []schema.GroupVersion) {
		if !a.begun {
			a.begun = true
			a.expect(changed)
			a.registerAll(ctx, changed)
			a.queue.Start(ctx)
			a.stale.Go(func() { a.enqueueStale(ctx) })
			return
		}
		for _, gv := range changed {
			a.queue.Add(gv)
		}
	})
	a.following.Start(ctx)
}

// Wait implements worker.Runner.
func (a *autoregister) Wait() {
	a.following.Wait()
	a.stale.Wait()
	if a.begun {
		a.queue.Wait()
	}
}

func (a *autoregister) findAll() {
	all, _ := a.services.List(everything)
	for _, s := range all {
		a.found.Store(s.Name, struct{}{})
	}
}

// expect sets the group versions that must be registered before done is closed.
func (a *autoregister) expect(all []schema.GroupVersion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = make(map[schema.GroupVersion]struct{}, len(all))
	for _, gv := range all {
		a.left[gv] = struct{}{}
	}
	if len(all) == 0 {
		close(a.done)
	}
}

// registered records that a group version is registered.
func (a *autoregister) registered(gv schema.GroupVersion) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, expected := a.left[gv]; !expected {
		return
	}
	if delete(a.left, gv); len(a.left) == 0 {
		close(a.done)
	}
}

// registerAll registers the group versions that are served at the start. Failures are retried from the queue.
func (a *autoregister) registerAll(ctx context.Context, all []schema.GroupVersion) {
	var wg worker.Group
	slots := make(chan struct{}, autoregisterWorkers)
	for _, gv := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := worker.Try(func() error { return a.sync(ctx, gv) }); err != nil {
				a.queue.Add(gv)
			}
		})
	}
	wg.Wait()
}

// enqueueStale enqueues, once all CRDs are known, APIServices that an earlier server registered and that are no
// longer served.
func (a *autoregister) enqueueStale(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-a.complete:
	}
	all, err := a.services.List(everything)
	if err != nil {
		return
	}
	for _, s := range all {
		a.changed(s)
	}
}

// changed enqueues a managed APIService after an update.
func (a *autoregister) changed(s *apiregistrationv1.APIService) {
	gv := groupVersion(s)
	if _, served := a.local.Get(gv); served || s.Labels[automanagedLabel] != "" {
		a.queue.Add(gv)
	}
}

// sync reconciles the APIService of a group version with what is served.
func (a *autoregister) sync(ctx context.Context, gv schema.GroupVersion) error {
	err := a.register(ctx, gv)
	if err == nil {
		a.registered(gv)
	}
	return err
}

func (a *autoregister) register(ctx context.Context, gv schema.GroupVersion) error {
	if gv.Group == apiregistrationv1.GroupName {
		return nil // the aggregator itself needs no registration
	}
	served, found := a.local.Get(gv)
	if !found {
		served = discovery.Version{GroupVersion: gv, Custom: true} // may be served later
	}
	want := localAPIService(&served)
	if want.Labels[automanagedLabel] == onStart {
		if _, synced := a.synced.Load(gv); synced {
			return nil
		}
	}
	err := a.reconcile(ctx, gv, want)
	if err == nil {
		a.synced.Store(gv, struct{}{})
	}
	return err
}

func (a *autoregister) reconcile(
	ctx context.Context, gv schema.GroupVersion, want *apiregistrationv1.APIService,
) error {
	have, err := a.services.Get(want.Name)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	_, served := a.local.Get(gv)
	switch {
	case apierrors.IsNotFound(err) && served:
		_, err := a.client.APIServices().Create(ctx, want, metav1.CreateOptions{})
		return ignore(err, apierrors.IsAlreadyExists) // another replica was faster
	case apierrors.IsNotFound(err) || have.Labels[automanagedLabel] == "":
		return nil // not managed by this server
	case !served:
		return a.remove(ctx, have)
	case apiequality.Semantic.DeepEqual(have.Spec, want.Spec):
		return nil
	}
	s := have.DeepCopy()
	s.Spec = want.Spec
	_, err = a.client.APIServices().Update(ctx, s, metav1.UpdateOptions{})
	return ignore(err, apierrors.IsNotFound)
}

func (a *autoregister) remove(ctx context.Context, s *apiregistrationv1.APIService) error {
	select {
	case <-a.complete:
	default:
		return nil
	}
	if s.Labels[automanagedLabel] == onStart {
		if _, found := a.found.Load(s.Name); !found || a.elsewhere(ctx, groupVersion(s)) {
			return nil
		}
	}
	err := a.client.APIServices().Delete(ctx, s.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}})
	err = ignore(err, apierrors.IsNotFound)
	if err == nil {
		a.found.Delete(s.Name)
	}
	return err
}

func ignore(err error, what func(error) bool) error {
	if what(err) {
		return nil
	}
	return err
}

// check is the health check "autoregister-completion".
func (a *autoregister) check() error {
	select {
	case <-a.done:
		return nil
	default:
		return errors.New("local APIServices are not registered yet")
	}
}

func apiServiceName(gv schema.GroupVersion) string { return gv.Version + "." + gv.Group }

// localAPIService returns the APIService of a local group version.
func localAPIService(v *discovery.Version) *apiregistrationv1.APIService {
	label := onStart
	if v.Custom {
		label = always
	}
	return &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: apiServiceName(v.GroupVersion),
			Labels: map[string]string{automanagedLabel: label}},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: v.GroupVersion.Group, Version: v.GroupVersion.Version,
			GroupPriorityMinimum: v.GroupPriority, VersionPriority: v.VersionPriority,
		},
	}
}
