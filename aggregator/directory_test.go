package aggregator

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/api/discovery"
)

func newTestDirectory() (d *directory, local, public *discovery.Groups) {
	local, public = discovery.NewGroups(), discovery.NewGroups()
	return newDirectory(local, public, func() *proxyHandler {
		return &proxyHandler{resolver: fixedResolver(""), identity: newIdentity(IdentityHeaders{})}
	}, nil), local, public
}

// served lists discovery: group/version, priority, stale or not, and resources.
// resources.
func served(public *discovery.Groups) string {
	var out []string
	for _, v := range public.Versions() {
		line := v.GroupVersion.String()
		if v.Stale {
			line += " stale"
		}
		line += map[discovery.Forms]string{discovery.PlainForm: " plain", discovery.AggregatedForm: " aggregated"}[v.Forms]
		for _, r := range v.List() {
			line += " " + r.Name
		}
		out = append(out, line)
	}
	return strings.Join(out, "; ")
}

func TestDirectoryTells(t *testing.T) {
	d, local, public := newTestDirectory()
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	check := func(what, want string) {
		t.Helper()
		if got := served(public); got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	local.Set(&discovery.Version{GroupVersion: apps, GroupPriority: 1,
		Resources: []metav1.APIResource{{Name: "deployments"}}})
	d.localChanged(apps)
	check("served, but without an APIService", "apps/v1 aggregated deployments")
	theirs := custom(schema.GroupVersion{Group: "example.com", Version: "v1"})
	theirs.Resources = []metav1.APIResource{{Name: "widgets"}}
	local.Set(theirs)
	d.localChanged(theirs.GroupVersion)
	check("custom, and without an APIService yet", "example.com/v1 widgets; apps/v1 aggregated deployments")
	if got := d.paths(); !slices.Equal(got, []string{"/apis/example.com", "/apis/example.com/v1"}) {
		t.Errorf("the index lists %v", got)
	}
	local.Remove(theirs.GroupVersion)
	d.localChanged(theirs.GroupVersion)
	check("no longer served, nor registered", "apps/v1 aggregated deployments")
	own := localAPIService(builtIn(apps))
	d.set(own)
	check("registered", "apps/v1 deployments")

	ext := remoteService(apiregistrationv1.ConditionFalse)
	ext.Spec.GroupPriorityMinimum = 20000
	d.set(ext)
	check("a remote one that is not available", "ext.example.com/v1 stale; apps/v1 deployments")
	ext = remoteService(apiregistrationv1.ConditionTrue)
	d.set(ext)
	check("available, and nobody knows what it has", "apps/v1 deployments; ext.example.com/v1 stale")
	d.setDiscovery(ext, remoteDiscovery{resources: []metav1.APIResource{{Name: "things"}}, current: true})
	check("available, of low priority", "apps/v1 deployments; ext.example.com/v1 things")
	d.set(remoteService(apiregistrationv1.ConditionFalse))
	check("not available, while it upToDate what it has", "apps/v1 deployments; ext.example.com/v1 things")
	d.setDiscovery(ext, remoteDiscovery{})
	check("gone again, its resources known", "apps/v1 deployments; ext.example.com/v1 stale things")

	local.Remove(apps)
	d.localChanged(apps)
	check("local and nobody serves it", "apps/v1 plain; ext.example.com/v1 stale things")
	d.remove(own)
	d.remove(ext)
	check("removed", "")
	d.setDiscovery(ext, remoteDiscovery{resources: []metav1.APIResource{{Name: "late"}}, current: true})
	check("an answer that comes too late", "")
}

func TestDirectoryRoutes(t *testing.T) {
	d, local, _ := newTestDirectory()
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	local.Set(&discovery.Version{GroupVersion: apps})
	d.set(localAPIService(builtIn(apps)))
	d.set(remoteService(apiregistrationv1.ConditionFalse))
	h := &directoryHandler{d, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })}
	tests := []struct {
		path string
		code int
	}{
		{"/apis/apps", 200},
		{"/apis/apps/v1", 418},
		{"/apis/apps/v1/namespaces/a/deployments", 418},
		{"/apis/nobody", 418},
		{"/apis/ext.example.com", 200},
		{"/apis/ext.example.com/v1", 503},
		{"/apis/ext.example.com/v1/things/a", 503},
		{"/apis/ext.example.com/v10/things", 418},
		{"/apis/", 418},
	}
	for _, tt := range tests {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, tt.path, nil))
		if w.Code != tt.code {
			t.Errorf("%s: %d, want %d", tt.path, w.Code, tt.code)
		}
	}
}

// BenchmarkLocalChanged measures the cost of each CRD when there are many.
func BenchmarkLocalChanged(b *testing.B) {
	d, local, _ := newTestDirectory()
	for i := range 10000 {
		gv := schema.GroupVersion{Group: "g" + strings.Repeat("a", i%50) + string(rune('a'+i%26)) + ".example.com", Version: "v1"}
		local.Set(&discovery.Version{GroupVersion: gv})
		d.set(localAPIService(builtIn(gv)))
	}
	gv := schema.GroupVersion{Group: "one.example.com", Version: "v1"}
	local.Set(&discovery.Version{GroupVersion: gv})
	d.set(localAPIService(builtIn(gv)))
	b.ReportAllocs()
	for b.Loop() {
		d.localChanged(gv)
	}
}
