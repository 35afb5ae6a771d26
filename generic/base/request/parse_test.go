package request

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	type want = Info
	resource := func(w want) want { w.IsResourceRequest = true; return w }
	for _, c := range []struct {
		method, url string
		want        want
	}{
		{"GET", "/", want{Verb: "get"}},
		{"POST", "/healthz", want{Verb: "post"}},
		{"OPTIONS", "/api", want{Verb: "options"}},
		{"GET", "/api/v1/", want{Verb: "get"}},
		{"GET", "/apis/apps/v1", want{Verb: "get", APIPrefix: "apis"}},
		{"GET", "/API/v1/pods", want{Verb: "get"}},
		{"GET", "/api/v1/pods", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Parts: []string{"pods"}})},
		{"GET", "//api/v1/pods/", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Parts: []string{"pods"}})},
		{"HEAD", "/api/v1/namespaces/n/pods/p", resource(want{Verb: "get", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "pods", Name: "p", Parts: []string{"pods", "p"}})},
		{"OPTIONS", "/api/v1/pods/p", resource(want{APIPrefix: "api", APIVersion: "v1", Resource: "pods", Name: "p", Parts: []string{"pods", "p"}})},
		{"GET", "/api/v1/namespaces", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "namespaces", Parts: []string{"namespaces"}})},
		{"DELETE", "/api/v1/namespaces/n", resource(want{Verb: "delete", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "namespaces", Name: "n", Parts: []string{"namespaces", "n"}})},
		{"PUT", "/api/v1/namespaces/n/finalize", resource(want{Verb: "update", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "namespaces", Name: "n", Subresource: "finalize", Parts: []string{"namespaces", "n", "finalize"}})},
		{"PATCH", "/api/v1/namespaces/n/status", resource(want{Verb: "patch", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "namespaces", Name: "n", Subresource: "status", Parts: []string{"namespaces", "n", "status"}})},
		{"POST", "/apis/apps/v1/namespaces/n/deployments", resource(want{Verb: "create", APIPrefix: "apis", APIGroup: "apps", APIVersion: "v1", Namespace: "n", Resource: "deployments", Parts: []string{"deployments"}})},
		{"DELETE", "/apis/apps/v1/namespaces/n/deployments", resource(want{Verb: "deletecollection", APIPrefix: "apis", APIGroup: "apps", APIVersion: "v1", Namespace: "n", Resource: "deployments", Parts: []string{"deployments"}})},
		{"GET", "/api/v1/namespaces/n/pods/p/proxy/a/b", resource(want{Verb: "get", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "pods", Name: "p", Subresource: "proxy", Parts: []string{"pods", "p", "proxy", "a", "b"}})},
		{"GET", "/api/v1/proxy/namespaces/n/pods/p/x", resource(want{Verb: "proxy", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "pods", Name: "p", Parts: []string{"pods", "p", "x"}})},
		{"POST", "/api/v1/watch/namespaces/n/pods", resource(want{Verb: "watch", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Resource: "pods", Parts: []string{"pods"}})},
		{"GET", "/api/v1/watch/pods/p", resource(want{Verb: "watch", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Name: "p", Parts: []string{"pods", "p"}})},
		{"GET", "/api/v1/namespaces/n//configmaps", resource(want{Verb: "get", APIPrefix: "api", APIVersion: "v1", Namespace: "n", Name: "configmaps", Parts: []string{"", "configmaps"}})},
		{"GET", "/api/v1/pods?watch=true", resource(want{Verb: "watch", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Parts: []string{"pods"}})},
		{"GET", "/api/v1/pods?watch", resource(want{Verb: "watch", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Parts: []string{"pods"}})},
		{"GET", "/api/v1/pods?watch=False", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Parts: []string{"pods"}})},
		{"GET", "/api/v1/pods/p?watch=true", resource(want{Verb: "get", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Name: "p", Parts: []string{"pods", "p"}})},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp&labelSelector=a%3Db", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", Name: "p",
			FieldSelector: "metadata.name=p", LabelSelector: "a=b", Parts: []string{"pods"}})},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Dp&limit=x", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", FieldSelector: "metadata.name=p", Parts: []string{"pods"}})},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name!%3Dp", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", FieldSelector: "metadata.name!=p", Parts: []string{"pods"}})},
		{"GET", "/api/v1/pods?fieldSelector=metadata.name%3Da%2Fb", resource(want{Verb: "list", APIPrefix: "api", APIVersion: "v1", Resource: "pods", FieldSelector: "metadata.name=a/b", Parts: []string{"pods"}})},
		{"DELETE", "/api/v1/pods?fieldSelector=metadata.name%3Dp", resource(want{Verb: "deletecollection", APIPrefix: "api", APIVersion: "v1", Resource: "pods", FieldSelector: "metadata.name=p", Parts: []string{"pods"}})},
	} {
		r, err := http.NewRequest(c.method, "https://h"+c.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := &Info{}
		if err := got.Parse(r.Method, r.URL.Path, r.URL.RawQuery); err != nil {
			t.Errorf("%s %s: %v", c.method, c.url, err)
			continue
		}
		c.want.Path = r.URL.Path
		got.Parts = append([]string(nil), got.Parts...)
		got.parts = [9]string{}
		if (c.want.Verb == "get" || c.want.Verb == "post" || c.want.Verb == "options") && !c.want.IsResourceRequest {
			got.APIPrefix, c.want.APIPrefix = "", ""
		}
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s %s:\n got %+v\nwant %+v", c.method, c.url, *got, c.want)
		}
	}
}

func TestParseNamesNoResource(t *testing.T) {
	for query, url := range map[string]string{"": "/api/v1/watch", "limit=1": "/api/v1/watch?limit=1"} {
		var i Info
		err := i.Parse("GET", "/api/v1/watch", query)
		if err == nil || err.Error() != "unable to determine kind and namespace from url, "+url {
			t.Errorf("got %v", err)
		}
	}
}

// QueryValue must return the same value as url.ParseQuery.
func FuzzParse(f *testing.F) {
	f.Add("GET", "/api/v1/namespaces/n/pods/p", "watch=1&fieldSelector=metadata.name%3Dx")
	f.Add("DELETE", "/apis/a/b/c//d", "a;b=c&%=1&watch")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		var i Info
		_ = i.Parse(method, path, query)
		if i.IsResourceRequest && i.Verb != "" && len(i.Parts) > 0 && i.Parts[0] != i.Resource {
			t.Errorf("resource %q of parts %q", i.Resource, i.Parts)
		}
		if i.Verb == "list" && strings.Contains(i.Name, "/") {
			t.Errorf("name %q", i.Name)
		}
		values, _ := url.ParseQuery(query)
		for _, key := range []string{"watch", "fieldSelector", "a"} {
			got, ok := QueryValue(query, key)
			if want, has := values[key]; ok != has || (has && want[0] != got) {
				t.Errorf("%q of %q: got %q %v, want %q", key, query, got, ok, want)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var i Info
		if err := i.Parse("GET", "/apis/apps/v1/namespaces/default/deployments/web/status", ""); err != nil {
			b.Fatal(err)
		}
	}
}
