package aggregator

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	"k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	"triplane.dev/generic/api/discovery"
)

// builtIn and custom are group versions as core and CRDs have them.
func builtIn(gv schema.GroupVersion) *discovery.Version {
	group, version := discovery.DefaultPriority(gv)
	return &discovery.Version{GroupVersion: gv, GroupPriority: group, VersionPriority: version}
}

func custom(gv schema.GroupVersion) *discovery.Version {
	return &discovery.Version{GroupVersion: gv, Custom: true, GroupPriority: discovery.CustomGroupPriority,
		VersionPriority: discovery.CustomVersionPriority}
}

// registrar runs an autoregister with a client that stores objects in memory.
type registrar struct {
	t        *testing.T
	client   *fake.Clientset
	local    *discovery.Groups
	complete chan struct{}
	stop     func()
}

func startRegistrar(t *testing.T, local *discovery.Groups, existing ...*apiregistrationv1.APIService) *registrar {
	t.Helper()
	var objects []runtime.Object
	for _, s := range existing {
		objects = append(objects, s)
	}
	r := &registrar{t: t, client: fake.NewClientset(objects...), local: local, complete: make(chan struct{})}
	factory := externalversions.NewSharedInformerFactory(r.client, 0)
	informer := factory.Apiregistration().V1().APIServices()
	a := newAutoregister(r.client.ApiregistrationV1(), informer.Lister(), servedVersions{local, r.complete, func(context.Context, schema.GroupVersion) bool { return false }}, nil)
	changed := func(obj any) { a.changed(obj.(*apiregistrationv1.APIService)) }
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	ended := make(chan struct{})
	go func() { defer close(ended); a.Start(ctx); <-ctx.Done(); a.Wait() }()
	r.stop = func() { cancel(); <-ended; factory.Shutdown() }
	r.until("everything is registered", func() error { return a.check() })
	return r
}

func (r *registrar) until(what string, f func() error) {
	r.t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for err := f(); err != nil; err = f() {
		if time.Now().After(deadline) {
			r.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// is waits until an APIService exists, or does not exist.
func (r *registrar) is(name string, there bool) {
	r.t.Helper()
	r.until(name, func() error {
		_, err := r.client.ApiregistrationV1().APIServices().Get(r.t.Context(), name, metav1.GetOptions{})
		if (err == nil) != there {
			return fmt.Errorf("there: %v, want %v", err == nil, there)
		}
		return nil
	})
}

func TestAutoregister(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	apps, widgets := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "example.com", Version: "v1"}
	gone := schema.GroupVersion{Group: "gone.example.com", Version: "v1"}
	theirs := remoteService(apiregistrationv1.ConditionTrue)
	served := discovery.NewGroups()
	served.Set(builtIn(apps))
	served.Set(custom(groupVersion(theirs)))
	r := startRegistrar(t, served, theirs, localAPIService(custom(gone)))
	defer r.stop()

	r.is("v1.apps", true)
	served.Set(custom(widgets))
	r.is("v1.example.com", true)
	s, err := r.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.example.com", metav1.GetOptions{})
	if err != nil || s.Labels[automanagedLabel] != always || s.Spec.GroupPriorityMinimum != 1000 || s.Spec.VersionPriority != 100 {
		t.Errorf("%+v, %v", s, err)
	}

	// The APIService of a CRD's version of a built-in group is created and deleted with the CRD.
	later := schema.GroupVersion{Group: "apps", Version: "v3"}
	served.Set(custom(later))
	r.is("v3.apps", true)

	r.is("v1.gone.example.com", true) // all CRDs may not be known yet
	close(r.complete)
	r.is("v1.gone.example.com", false)
	served.Remove(widgets)
	r.is("v1.example.com", false)
	served.Remove(later)
	r.is("v3.apps", false)

	served.Remove(groupVersion(theirs))
	served.Set(custom(widgets))
	r.is("v1.example.com", true)
	r.is(theirs.Name, true) // an administrator's own is left alone
}

func TestAutoregisterRestores(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	apps, widgets := schema.GroupVersion{Group: "apps", Version: "v1"}, schema.GroupVersion{Group: "example.com", Version: "v1"}
	served := discovery.NewGroups()
	served.Set(builtIn(apps))
	served.Set(custom(widgets))
	old := localAPIService(builtIn(apps))
	old.Spec.GroupPriorityMinimum = 5 // of an older release
	r := startRegistrar(t, served, old)
	defer r.stop()
	services := r.client.ApiregistrationV1().APIServices()
	priority := func(name string) int32 {
		s, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return s.Spec.GroupPriorityMinimum
	}
	if p := priority("v1.apps"); p != 17800 {
		t.Errorf("priority of an older release stayed: %d", p)
	}
	for _, name := range []string{"v1.apps", "v1.example.com"} {
		s, err := services.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s = s.DeepCopy()
		s.Spec.GroupPriorityMinimum = 7
		if _, err := services.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	r.until("a custom resource's is restored", func() error {
		if p := priority("v1.example.com"); p != 1000 {
			return fmt.Errorf("priority %d", p)
		}
		return nil
	})
	if p := priority("v1.apps"); p != 7 {
		t.Errorf("what an administrator set of a built-in one is lost: %d", p)
	}
}

// A server of another release registers what this one does not serve, before and after this one starts.
func TestAutoregisterLeavesOthersAlone(t *testing.T) {
	later := schema.GroupVersion{Group: "apps", Version: "v9"}
	r := startRegistrar(t, discovery.NewGroups(), localAPIService(builtIn(later)))
	defer r.stop()
	close(r.complete)
	r.is("v9.apps", false)
	if _, err := r.client.ApiregistrationV1().APIServices().Create(t.Context(), localAPIService(builtIn(later)),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// What comes behind it is handled after it.
	own := schema.GroupVersion{Group: "apps", Version: "v1"}
	r.local.Set(builtIn(own))
	r.is("v1.apps", true)
	time.Sleep(20 * time.Millisecond)
	r.is("v9.apps", true)
}
