package discovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/routes"
)

const aggregatedV2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func gv(s string) schema.GroupVersion {
	v, err := schema.ParseGroupVersion(s)
	if err != nil {
		panic(err)
	}
	return v
}

func ask(h http.Handler, accept string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func groupNames(t *testing.T, g *Groups) []string {
	t.Helper()
	var list metav1.APIGroupList
	if err := json.Unmarshal(ask(g.RootHandler(), "").Body.Bytes(), &list); err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, g := range list.Groups {
		names = append(names, g.Name)
	}
	return names
}

func TestOrder(t *testing.T) {
	g := NewGroups()
	for _, v := range []string{"autoscaling/v1", "apps/v1", "autoscaling/v2", "v1", "apiextensions.k8s.io/v1", "admissionregistration.k8s.io/v1"} {
		group, version := DefaultPriority(gv(v))
		g.Set(&Version{GroupVersion: gv(v), GroupPriority: group, VersionPriority: version})
	}
	for _, v := range []string{"z.example.com/v1alpha1", "z.example.com/v1", "z.example.com/v2beta1", "a.example.com/v10", "a.example.com/v2", "b.example.com/v2", "b.example.com/v3", "c.example.com/v21"} {
		g.Set(&Version{GroupVersion: gv(v), GroupPriority: CustomGroupPriority, VersionPriority: CustomVersionPriority})
	}
	var got []string
	for _, v := range g.Versions() {
		got = append(got, v.GroupVersion.String())
	}
	want := []string{
		"v1", "apps/v1", "autoscaling/v2", "autoscaling/v1", "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1",
		"a.example.com/v10", "a.example.com/v2", "b.example.com/v3", "b.example.com/v2", "c.example.com/v21", "z.example.com/v1", "z.example.com/v2beta1", "z.example.com/v1alpha1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}

	if names := groupNames(t, g); !slices.Equal(names[4:], []string{"z.example.com", "a.example.com", "b.example.com", "c.example.com"}) {
		t.Errorf("%v: groups of one priority are not in the order of their APIServices, v1.z, v10.a, v2.b, v21.c", names)
	}

	g.Set(&Version{GroupVersion: gv("z.example.com/v2beta1"), GroupPriority: 20000, VersionPriority: 200})
	if names := groupNames(t, g); names[0] != "z.example.com" {
		t.Errorf("a raised priority does not count: %v", names)
	}
	for _, v := range []string{"z.example.com/v1", "z.example.com/v2beta1", "z.example.com/v1alpha1"} {
		if !g.Remove(gv(v)) {
			t.Errorf("%s was not there", v)
		}
	}
	if g.Remove(gv("z.example.com/v1")) {
		t.Error("removed twice")
	}
	if names := groupNames(t, g); slices.Contains(names, "z.example.com") {
		t.Errorf("a group without versions is listed: %v", names)
	}
}

var things = []metav1.APIResource{
	{Name: "things", SingularName: "thing", Kind: "Thing", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}, ShortNames: []string{"th"}, Categories: []string{"all"}},
	{Name: "things/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true, Verbs: metav1.Verbs{"get"}},
	{Name: "things/status", Kind: "Thing", Namespaced: true, Verbs: metav1.Verbs{"get"}},
}

func TestAggregated(t *testing.T) {
	g := NewGroups()
	g.Set(&Version{GroupVersion: gv("example.com/v1"), Resources: things, FullKinds: true})
	g.Set(&Version{GroupVersion: gv("example.com/v1beta1"), Stale: true})
	g.Set(&Version{GroupVersion: gv("v1"), Resources: things[:1]})

	w := ask(g.RootHandler(), aggregatedV2)
	want := `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"example.com"},"versions":[` +
		`{"version":"v1","resources":[{"resource":"things","responseKind":{"group":"example.com","version":"v1","kind":"Thing"},"scope":"Namespaced","singularResource":"thing",` +
		`"verbs":["get","list"],"shortNames":["th"],"categories":["all"],"subresources":[` +
		`{"subresource":"scale","responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"},"verbs":["get"]},` +
		`{"subresource":"status","responseKind":{"group":"example.com","version":"v1","kind":"Thing"},"verbs":["get"]}]}],"freshness":"Current"},` +
		`{"version":"v1beta1","freshness":"Stale"}]}]}` + "\n"
	if got := w.Body.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if ct := w.Header().Get("Content-Type"); ct != aggregatedV2 {
		t.Errorf("content type %q", ct)
	}

	core := ask(g.LegacyHandler("x:1"), aggregatedV2).Body.String()
	if !strings.Contains(core, `"items":[{"metadata":{},"versions":[{"version":"v1","resources":[{"resource":"things","responseKind":{"group":"","version":"","kind":"Thing"}`) {
		t.Errorf("core: %s", core)
	}

	etag := w.Header().Get("ETag")
	again := ask(g.RootHandler(), aggregatedV2, "If-None-Match", etag)
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 || again.Header().Get("ETag") != etag {
		t.Errorf("the same again: %d, %d bytes, ETag %s", again.Code, again.Body.Len(), again.Header().Get("ETag"))
	}
	g.Set(&Version{GroupVersion: gv("example.com/v1beta1"), Resources: things})
	changed := ask(g.RootHandler(), aggregatedV2, "If-None-Match", etag)
	if changed.Code != http.StatusOK || changed.Header().Get("ETag") == etag {
		t.Errorf("after a change: %d, ETag %s", changed.Code, changed.Header().Get("ETag"))
	}
}

func TestNegotiation(t *testing.T) {
	g := NewGroups()
	g.Set(&Version{GroupVersion: gv("v1"), Resources: things})
	const pb, yaml = "application/vnd.kubernetes.protobuf", "application/yaml"
	params := strings.TrimPrefix(aggregatedV2, "application/json")
	for _, c := range []struct {
		accept string
		code   int
		ct     string
	}{
		{"", 200, "application/json"},
		{"*/*", 200, "application/json"},
		{pb, 200, pb},
		{yaml, 200, yaml},
		{pb + params, 200, pb + params},
		{yaml + params, 200, yaml + params},
		{aggregatedV2 + ",application/json", 200, aggregatedV2},
		{"application/json," + aggregatedV2, 200, aggregatedV2},
		{"application/json," + aggregatedV2 + ";q=0.5", 200, aggregatedV2},
		{"application/json;q=0.5," + aggregatedV2, 200, aggregatedV2},
		{strings.Replace(aggregatedV2, "v=v2", "v=v2beta1", 1), 406, "application/json"},
		{strings.Replace(aggregatedV2, "v=v2", "v=v2beta1", 1) + ",application/json", 200, "application/json"},
		{strings.Replace(aggregatedV2, "v=v2", "v=v2beta1", 1) + "," + aggregatedV2, 200, aggregatedV2},
		{"application/json;v=v2;as=APIGroupDiscoveryList", 406, "application/json"},
		{"application/json;as=Table;v=v1;g=meta.k8s.io", 406, "application/json"},
		{"text/html", 406, "application/json"},
	} {
		for name, h := range map[string]http.Handler{"/apis": g.RootHandler(), "/api": g.LegacyHandler("x:1")} {
			w := ask(h, c.accept)
			if ct := w.Header().Get("Content-Type"); w.Code != c.code || ct != c.ct {
				t.Errorf("%s, Accept %q: %d %q, want %d %q", name, c.accept, w.Code, ct, c.code, c.ct)
			}
		}
	}
	slash := httptest.NewRequest(http.MethodGet, "/apis/", nil)
	slash.Header.Set("Accept", aggregatedV2)
	w := httptest.NewRecorder()
	if g.RootHandler().ServeHTTP(w, slash); w.Code != http.StatusNotAcceptable {
		t.Errorf("/apis/ in the aggregated form: %d", w.Code)
	}
	body := ask(g.LegacyHandler(""), pb+params).Body.Bytes()
	envelope, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		t.Fatalf("no protobuf envelope: %q", body)
	}
	var unknown runtime.Unknown
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := unknown.Unmarshal(envelope); err != nil {
		t.Fatal(err)
	}
	if err := list.Unmarshal(unknown.Raw); err != nil || len(list.Items) != 1 || unknown.Kind != "APIGroupDiscoveryList" {
		t.Errorf("%v, %d items of %v", err, len(list.Items), unknown.TypeMeta)
	}
}

func TestDocuments(t *testing.T) {
	g := NewGroups()
	g.Set(&Version{GroupVersion: gv("v1")})
	g.Set(&Version{GroupVersion: gv("example.com/v1"), Resources: things[:1]})
	notFound := http.HandlerFunc(http.NotFound)
	for name, c := range map[string]struct {
		h    http.Handler
		code int
		body string
	}{
		"versions": {g.LegacyHandler("192.0.2.1:6443"), 200, `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"192.0.2.1:6443"}]}` + "\n"},
		"group": {g.GroupHandler("example.com", notFound), 200,
			`{"kind":"APIGroup","apiVersion":"v1","name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}` + "\n"},
		"no group": {g.GroupHandler("other", notFound), 404, "404 page not found\n"},
		"version": {g.VersionHandler(gv("example.com/v1"), notFound), 200,
			`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":["get","list"],"shortNames":["th"],"categories":["all"]}]}` + "\n"},
		"no version": {g.VersionHandler(gv("example.com/v2"), notFound), 404, "404 page not found\n"},
	} {
		if w := ask(c.h, ""); w.Code != c.code || w.Body.String() != c.body {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

func TestChanged(t *testing.T) {
	g := NewGroups()
	c := g.Changed()
	select {
	case <-c:
		t.Fatal("nothing changed yet")
	default:
	}
	g.Set(&Version{GroupVersion: gv("v1")})
	<-c
}

func TestLargeDocumentIsCompressed(t *testing.T) {
	g := NewGroups()
	for i := range 1000 {
		g.Set(&Version{GroupVersion: gv(fmt.Sprintf("g%d.example.com/v1", i)), Resources: things})
	}
	w := ask(g.RootHandler(), aggregatedV2, "Accept-Encoding", "gzip")
	if w.Header().Get("Content-Encoding") != "gzip" || w.Body.Len() > 100_000 {
		t.Errorf("%d bytes, encoding %q", w.Body.Len(), w.Header().Get("Content-Encoding"))
	}
}

// One of many groups changes between two requests.
func BenchmarkAggregatedAfterChange(b *testing.B) {
	g := NewGroups()
	for i := range 2000 {
		g.Set(&Version{GroupVersion: gv(fmt.Sprintf("g%d.example.com/v1", i)), Resources: things})
	}
	h := g.RootHandler()
	b.ReportAllocs()
	for b.Loop() {
		g.Set(&Version{GroupVersion: gv("g7.example.com/v1"), Resources: things})
		ask(h, aggregatedV2)
	}
}

// TestCBOR serves documents as CBOR where that is enabled.
func TestCBOR(t *testing.T) {
	const aggregated = "application/cbor;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for _, enabled := range []bool{false, true} {
		g := NewGroups()
		want := http.StatusNotAcceptable
		if enabled {
			g.ServeCBOR()
			want = http.StatusOK
		}
		g.Set(&Version{GroupVersion: gv("apps/v1")})
		for name, h := range map[string]http.Handler{"/apis": g.RootHandler(), "/api": g.LegacyHandler("x:1"),
			"/apis/apps": g.GroupHandler("apps", http.NotFoundHandler()), "/apis/apps/v1": g.VersionHandler(gv("apps/v1"), http.NotFoundHandler())} {
			accepted := []string{"application/cbor"}
			if name == "/api" || name == "/apis" {
				accepted = append(accepted, aggregated)
			}
			for _, accept := range accepted {
				w := ask(h, accept)
				if w.Code != want || enabled && (w.Header().Get("Content-Type") != accept || !bytes.HasPrefix(w.Body.Bytes(), []byte{0xd9, 0xd9, 0xf7})) {
					t.Errorf("enabled %t, %s as %s: %d %s %q", enabled, name, accept, w.Code, w.Header().Get("Content-Type"), w.Body)
				}
			}
			if documents := g.GroupService("apps"); strings.Contains(strings.Join(documents.(*routes.Document).Produces, ","), "cbor") != enabled {
				t.Errorf("enabled %t: %v", enabled, documents)
			}
		}
	}
}

func TestVersionsAreListedInTheirForms(t *testing.T) {
	g := NewGroups()
	g.Set(&Version{GroupVersion: gv("apps/v1")})
	g.Set(&Version{GroupVersion: gv("apps/v2"), Forms: PlainForm})
	g.Set(&Version{GroupVersion: gv("batch/v1"), Forms: AggregatedForm})
	g.Set(&Version{GroupVersion: gv("events/v1"), Forms: PlainForm})
	listed := func(accept string) (out []string) {
		for _, name := range []string{"apps", "batch", "events", `"v1"`, `"v2"`} {
			if strings.Contains(ask(g.RootHandler(), accept).Body.String(), name) {
				out = append(out, name)
			}
		}
		return out
	}
	for accept, want := range map[string][]string{"": {"apps", "events", `"v1"`, `"v2"`},
		aggregatedV2: {"apps", "batch", `"v1"`}} {
		if got := listed(accept); !slices.Equal(got, want) {
			t.Errorf("%q lists %q, want %q", accept, got, want)
		}
	}
	if g.HasGroup("batch") || !g.HasGroup("events") {
		t.Error("documents of groups")
	}
	if w := ask(g.GroupHandler("batch", http.NotFoundHandler()), ""); w.Code != http.StatusNotFound {
		t.Errorf("a group without a document: %d", w.Code)
	}
}
