package aggregator

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/informers/informerstest"
)

func service(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "ext"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.9", Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	}
	if change != nil {
		change(s)
	}
	return s
}

func endpointSlice(name, portName string, ready bool) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "ext"}},
		Ports:      []discoveryv1.EndpointPort{{Name: ptr.To(portName), Port: ptr.To[int32](8443)}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(ready)},
		}},
	}
}

// newTestBackends returns backends with some objects, and a function that stops them.
func newTestBackends(t *testing.T, objects ...runtime.Object) (*backends, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	factory, _ := informerstest.New(objects...)
	b, err := newBackends(ctx, factory)
	if err != nil {
		t.Fatal(err)
	}
	if !b.synced(ctx) {
		t.Fatal("services are not listed")
	}
	return b, func() { cancel(); b.shutdown() }
}

// newTestAvailability checks one APIService, whose server is at host.
func newTestAvailability(t *testing.T, b *backends, host string, s *apiregistrationv1.APIService) (*availability, *fake.Clientset) {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{byBackend: backendIndex})
	if err := indexer.Add(s); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(s)
	return newAvailability(client.ApiregistrationV1(), availabilitySources{indexer, b, &fetcher{resolver: fixedResolver(host)}},
		availabilityReports{func(*apiregistrationv1.APIService, remoteDiscovery) {}, func(*apiregistrationv1.APIService, time.Duration) {}}, nil), client
}

func TestConditions(t *testing.T) {
	code := http.StatusOK
	remote := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/ext.example.com/v1" || r.Header.Get("X-Remote-User") != "system:kube-aggregator" {
			code = http.StatusForbidden
		}
		if code == http.StatusOK && r.Header.Get("Accept") != "" {
			code = http.StatusNotAcceptable // which forms it has is the server's affair
		}
		w.WriteHeader(code)
		io.WriteString(w, `{"kind":"APIResourceList","resources":[]}`)
	}))
	defer remote.Close()
	up := remote.Listener.Addr().String()
	tests := []struct {
		name            string
		objects         []runtime.Object
		host            string
		code            int
		reason, message string
		again           bool
	}{
		{"no service", nil, up, 200, "ServiceNotFound", `service/ext in "ns" is not present`, false},
		{"another port", []runtime.Object{service(func(s *corev1.Service) { s.Spec.Ports[0].Port = 80 })}, up, 200,
			"ServicePortError", `service/ext in "ns" is not listening on port 443`, false},
		{"no slices", []runtime.Object{service(nil)}, up, 200, "EndpointsNotFound", `cannot find endpointslices for service/ext in "ns"`, false},
		{"another port name", []runtime.Object{service(nil), endpointSlice("a", "http", true)}, up, 200,
			"MissingEndpoints", `endpointslices for service/ext in "ns" have no addresses with port name "https"`, false},
		{"not ready", []runtime.Object{service(nil), endpointSlice("a", "https", false)}, up, 200,
			"MissingEndpoints", `endpointslices for service/ext in "ns" have no addresses with port name "https"`, false},
		{"ready", []runtime.Object{service(nil), endpointSlice("a", "https", false), endpointSlice("b", "https", true)}, up, 200,
			"Passed", "all checks passed", false},
		{"external name", []runtime.Object{service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName })}, up, 200,
			"Passed", "all checks passed", false},
		{"bad answer", []runtime.Object{service(nil), endpointSlice("a", "https", true)}, up, 500, "FailedDiscoveryCheck",
			"failing or missing response from https://" + up + "/apis/ext.example.com/v1: bad status from https://" + up + "/apis/ext.example.com/v1: 500", true},
		{"nobody there", []runtime.Object{service(nil), endpointSlice("a", "https", true)}, "127.0.0.1:1", 200, "FailedDiscoveryCheck",
			`failing or missing response from https://127.0.0.1:1/apis/ext.example.com/v1: Get "https://127.0.0.1:1/apis/ext.example.com/v1": dial tcp`, true},
		{"unresolved", []runtime.Object{service(nil), endpointSlice("a", "https", true)}, "", 200, "FailedDiscoveryCheck",
			"no endpoints available for service ext", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, stop := newTestBackends(t, tt.objects...)
			defer stop()
			a, client := newTestAvailability(t, b, tt.host, remoteService(apiregistrationv1.ConditionUnknown))
			defer a.queue.ShutDown()
			code = tt.code
			again, err := a.sync(t.Context(), "v1.ext.example.com")
			if err != nil || again != tt.again {
				t.Errorf("again %v, %v", again, err)
			}
			s, err := client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.ext.example.com", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if c := available(s); c.Reason != tt.reason || !strings.HasPrefix(c.Message, tt.message) {
				t.Errorf("%s: %s", c.Reason, c.Message)
			}
		})
	}
}

// TestOwnChangesAreNoReason checks that writing the condition does not cause another check, even though the text
// of an error differs each time (it contains ports).
func TestOwnChangesAreNoReason(t *testing.T) {
	b, stop := newTestBackends(t)
	defer stop()
	first := remoteService(apiregistrationv1.ConditionUnknown)
	a, client := newTestAvailability(t, b, "", first)
	defer a.queue.ShutDown()
	if _, err := a.sync(t.Context(), first.Name); err != nil {
		t.Fatal(err)
	}
	written, err := client.ApiregistrationV1().APIServices().Get(t.Context(), first.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*apiregistrationv1.APIService)
		want   int
	}{
		{"its own", func(*apiregistrationv1.APIService) {}, 0},
		{"labels", func(s *apiregistrationv1.APIService) { s.Labels = map[string]string{"a": "b"} }, 0},
		{"the spec", func(s *apiregistrationv1.APIService) { s.Spec.Service.Name = "other" }, 1},
		{"somebody else's status", func(s *apiregistrationv1.APIService) { setAvailable(s, localCondition()) }, 1},
	}
	for _, tt := range tests {
		s := written.DeepCopy()
		tt.change(s)
		a.changed(s, first)
		if got := a.queue.Len(); got != tt.want {
			t.Errorf("%s: %d checks, want %d", tt.name, got, tt.want)
		}
		for a.queue.Len() > 0 {
			name, _ := a.queue.Get()
			a.queue.Done(name)
		}
	}
}

func TestAvailabilityFollowsBackends(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithCancel(t.Context())
	factory, kube := informerstest.New()
	b, err := newBackends(ctx, factory)
	if err != nil {
		t.Fatal(err)
	}
	s := remoteService(apiregistrationv1.ConditionUnknown)
	a, client := newTestAvailability(t, b, "", s)
	if err := b.onChange(a.backendHandler()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); a.run(ctx) }()
	reason := func(want string) {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for {
			s, err := client.ApiregistrationV1().APIServices().Get(t.Context(), s.Name, metav1.GetOptions{})
			if err == nil && available(s) != nil && available(s).Reason == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("not %s: %+v, %v", want, s, err)
			}
			time.Sleep(time.Millisecond)
		}
	}
	a.enqueue(s.Name)
	reason("ServiceNotFound")
	if err := kube.Add(service(nil)); err != nil {
		t.Fatal(err)
	}
	reason("EndpointsNotFound")
	if err := kube.Add(endpointSlice("a", "https", true)); err != nil {
		t.Fatal(err)
	}
	reason("FailedDiscoveryCheck")
	cancel()
	<-ended
	b.shutdown()
}

func TestResolvers(t *testing.T) {
	b, stop := newTestBackends(t, service(nil), endpointSlice("a", "https", true), endpointSlice("b", "https", false), endpointSlice("c", "http", true),
		service(func(s *corev1.Service) { s.Name, s.Spec.ClusterIP = "headless", corev1.ClusterIPNone }),
		service(func(s *corev1.Service) {
			s.Name, s.Spec.Type, s.Spec.ExternalName = "name", corev1.ServiceTypeExternalName, "api.example.com"
		}))
	defer stop()
	tests := []struct {
		resolver ServiceResolver
		name     string
		port     int32
		want     string
	}{
		{clusterIPResolver{b}, "ext", 443, "https://10.0.0.9:443"},
		{clusterIPResolver{b}, "ext", 80, `no service port 80 found for service "ext"`},
		{clusterIPResolver{b}, "headless", 443, `cannot route to service with ClusterIP "None"`},
		{clusterIPResolver{b}, "name", 443, "https://api.example.com:443"},
		{clusterIPResolver{b}, "nobody", 443, `service "nobody" not found`},
		{endpointResolver{b}, "ext", 443, "https://192.0.2.1:8443"},
		{endpointResolver{b}, "ext", 80, `no service port 80 found for service "ext"`},
		{endpointResolver{b}, "headless", 443, `no endpoints available for service "headless"`},
		{endpointResolver{b}, "name", 8443, "https://api.example.com:8443"},
		{endpointResolver{b}, "nobody", 443, `service "nobody" not found`},
	}
	for _, tt := range tests {
		u, err := tt.resolver.ResolveEndpoint("ns", tt.name, tt.port)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = u.String()
		}
		if !strings.HasPrefix(got, tt.want) {
			t.Errorf("%T %s:%d: %s, want %s", tt.resolver, tt.name, tt.port, got, tt.want)
		}
	}
}
