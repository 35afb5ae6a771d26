package aggregator

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// TestLearn asks servers of different age what they have.
func TestLearn(t *testing.T) {
	const aggregated = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"ext.example.com"},"versions":[
{"version":"v2","resources":[{"resource":"others","responseKind":{"kind":"Other"},"scope":"Cluster","verbs":["get"]}]},
{"version":"v1","resources":[{"resource":"things","singularResource":"thing","responseKind":{"group":"ext.example.com","version":"v1","kind":"Thing"},"scope":"Namespaced",
"verbs":["get","list"],"shortNames":["th"],"subresources":[{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get"]}]}]}]}]}`
	const legacy = `{"kind":"APIResourceList","resources":[{"name":"things","namespaced":true,"kind":"Thing","verbs":["get"]}]}`
	const both = `[{things thing true ext.example.com v1 Thing [get list] [th] [] } {things/scale  true autoscaling v1 Scale [get] [] [] }]`
	for _, c := range []struct{ name, legacy, whole, want string }{
		{"legacy", legacy, "", `[{things  true   Thing [get] [] [] }]`},
		{"both", legacy, aggregated, both},
		{"legacy beside what cannot be read", legacy, "no", `[{things  true   Thing [get] [] [] }]`},
		{"aggregated", aggregated, aggregated, both},
		{"another group", "{}", `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"a"}}]}`, "nothing"},
		{"neither", "no", "no", "nothing"},
		{"aggregated, and no document of the group version", "", aggregated, both},
	} {
		t.Run(c.name, func(t *testing.T) {
			remote := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/apis/ext.example.com/v1":
					if c.legacy == "" {
						w.WriteHeader(http.StatusNotFound)
					}
					_, _ = io.WriteString(w, c.legacy)
				case "/apis":
					_, _ = io.WriteString(w, c.whole)
				}
			}))
			defer remote.Close()
			b, stop := newTestBackends(t, []runtime.Object{service(nil), endpointSlice("a", "https", true)}...)
			defer stop()
			a, client := newTestAvailability(t, b, remote.Listener.Addr().String(), remoteService(apiregistrationv1.ConditionUnknown))
			got := "nothing"
			a.setDiscovery = func(_ *apiregistrationv1.APIService, l remoteDiscovery) {
				if l.current {
					got = fmt.Sprint(l.resources)
				}
			}
			if _, err := a.sync(t.Context(), "v1.ext.example.com"); err != nil {
				t.Fatal(err)
			}
			s, err := client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.ext.example.com", metav1.GetOptions{})
			if err != nil || isAvailable(s) != (c.legacy != "") {
				t.Errorf("available: %v %v", s, err)
			}
			if got != c.want {
				t.Errorf("remoteDiscovery %s, want %s", got, c.want)
			}
		})
	}
}

// The resources of a server are passed on unchanged, except for missing kinds.
func TestLearnAggregated(t *testing.T) {
	const document = `{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"a"},"versions":[{"version":"v1","resources":[
{"resource":"jobs","verbs":["list"],"subresources":[{"subresource":"run","verbs":["create"]}]}]}]}]}`
	l := parseAggregated([]byte(document), schema.GroupVersion{Group: "a", Version: "v1"})
	want := []apidiscoveryv2.APIResourceDiscovery{{
		Resource: "jobs", Verbs: []string{"list"}, ResponseKind: &metav1.GroupVersionKind{},
		Subresources: []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "run", Verbs: []string{"create"}, ResponseKind: &metav1.GroupVersionKind{}}},
	}}
	if !l.current || !reflect.DeepEqual(l.aggregated, want) {
		t.Errorf("remoteDiscovery %+v", l)
	}
	if l := parseAggregated([]byte(document), schema.GroupVersion{Group: "a", Version: "v2"}); l.current || l.aggregated != nil {
		t.Errorf("of another version %+v", l)
	}
}
