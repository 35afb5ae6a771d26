package endpoints

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/emicklei/go-restful/v3"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/routes"
)

// What the resources of this file have does nothing.
func created(context.Context, rest.CreateRequest) (runtime.Object, error) { return &corev1.Pod{}, nil }
func updated(context.Context, rest.UpdateRequest) (runtime.Object, bool, error) {
	return &corev1.Pod{}, false, nil
}
func got(context.Context, rest.GetRequest) (runtime.Object, error) { return &corev1.Pod{}, nil }
func newPod() runtime.Object                                       { return &corev1.Pod{} }

// resources are those of coreVersion.
func resources() map[string]*rest.Resource {
	options := func() runtime.Object { return &corev1.PodExecOptions{} }
	return map[string]*rest.Resource{
		"pods": {
			New: newPod, NewList: func() runtime.Object { return &corev1.PodList{} },
			Namespaced: true, Singular: "pod", ShortNames: []string{"po"}, Categories: []string{"all"},
			Get: got, Create: created, Update: updated,
			List: func(context.Context, *internalversion.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{}, nil
			},
			Watch: func(context.Context, *internalversion.ListOptions) (rest.EventStream, error) { return nil, nil },
			Delete: func(context.Context, rest.DeleteRequest) (runtime.Object, bool, error) {
				return nil, true, nil
			},
			DeleteCollection: func(context.Context, rest.DeleteCollectionRequest) (runtime.Object, error) { return nil, nil },
		},
		"pods/status": {New: newPod, Get: got, Update: updated},
		"pods/scale": {
			New:  func() runtime.Object { return &autoscalingv1.Scale{} },
			Kind: autoscalingv1.SchemeGroupVersion.WithKind("Scale"), Get: got, Update: updated,
		},
		"pods/exec": {
			New: options, NewOptions: options, ConnectPath: "path", ConnectMethods: []string{"GET", "POST", "HEAD"},
			Connect: func(context.Context, rest.ConnectRequest) (http.Handler, error) { return http.NotFoundHandler(), nil },
		},
		"bindings": {New: func() runtime.Object { return &corev1.Binding{} }, Create: created},
	}
}

func coreVersion() *APIGroupVersion {
	return &APIGroupVersion{
		Root: "/api", GroupVersion: corev1.SchemeGroupVersion, Scheme: clientscheme.Scheme,
		Resources: resources(),
	}
}

// documented returns the described routes of coreVersion.
func documented() (all []restful.Route) {
	for _, r := range routes.All(coreVersion().Service()) {
		all = append(all, r.Documented())
	}
	return all
}

func TestDiscovery(t *testing.T) {
	shown, err := coreVersion().Discovered()
	if err != nil {
		t.Fatal(err)
	}
	want := []metav1.APIResource{
		{Name: "bindings", SingularName: "binding", Kind: "Binding", Verbs: metav1.Verbs{"create"}},
		{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", ShortNames: []string{"po"}, Categories: []string{"all"},
			Verbs:              metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
			StorageVersionHash: "xPOwRZ+Yhw8="},
		{Name: "pods/exec", Namespaced: true, Kind: "PodExecOptions", Verbs: metav1.Verbs{"create", "get"}},
		{Name: "pods/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: metav1.Verbs{"get", "patch", "update"}},
		{Name: "pods/status", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get", "patch", "update"}},
	}
	if !reflect.DeepEqual(shown, want) {
		t.Errorf("%+v\nwant\n%+v", shown, want)
	}
	w := httptest.NewRecorder()
	coreVersion().Service().Routes("")[0].Handler(w, httptest.NewRequest(http.MethodGet, "/api/v1/", nil))
	var list metav1.APIResourceList
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || list.GroupVersion != "v1" || len(list.APIResources) != 5 {
		t.Errorf("%v %s", err, w.Body)
	}
	if !strings.HasPrefix(w.Body.String(), `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"bindings","singularName":"binding","namespaced":false`) {
		t.Errorf("%s", w.Body)
	}
}

func TestHandlersWithoutRoutes(t *testing.T) {
	g := &APIGroupVersion{
		Root: "/api", GroupVersion: corev1.SchemeGroupVersion, Scheme: clientscheme.Scheme,
		Resources: resources(),
	}
	for path, want := range map[string][]string{
		"pods":       {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		"pods/scale": {"get", "patch", "update"},
		"bindings":   {"create"},
	} {
		r, err := g.Resource(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(r.Handlers())); !slices.Equal(got, want) {
			t.Errorf("%s has handlers for %v", path, got)
		}
	}
	if _, err := g.Resource("nodes"); err == nil {
		t.Error("a resource without storage has handlers")
	}
}

// The set of a path has its route, and no other set has it.
func TestSets(t *testing.T) {
	service := coreVersion().Service()
	of := func(path string) (found []string) {
		for _, set := range service.Sets() {
			for _, r := range service.Routes(set) {
				if r.Path == path && r.Handler != nil {
					found = append(found, set)
				}
			}
		}
		return slices.Compact(found)
	}
	n := 0
	for _, r := range routes.All(service) {
		n++
		set, ok := service.SetOf(strings.Trim(strings.TrimPrefix(r.Path, service.Root()), "/"))
		if want := of(r.Path); !ok || !slices.Equal([]string{set}, want) {
			t.Errorf("%s: in the set %q (%v), want %q", r.Path, set, ok, want)
		}
	}
	if n < 20 {
		t.Errorf("%d routes", n)
	}
	for _, path := range []string{"cats", "namespaces", "namespaces/a/cats", "watch", "/pods"} {
		if set, ok := service.SetOf(path); ok {
			t.Errorf("%s is in the set %q", path, set)
		}
	}
}

func TestOperations(t *testing.T) {
	got := map[string]string{}
	for _, r := range documented() {
		got[r.Operation] = r.Method + " " + strings.TrimPrefix(r.Path, "/api/v1") + " " + r.Doc
		if r.Operation != "getCoreV1APIResources" && (r.Metadata[metaAction] == nil || r.Metadata[metaKind] == nil) {
			t.Errorf("%s lacks metadata", r.Operation)
		}
	}
	for id, want := range map[string]string{
		"listCoreV1PodForAllNamespaces":              "GET /pods list or watch objects of kind Pod",
		"listCoreV1NamespacedPod":                    "GET /namespaces/{namespace}/pods list or watch objects of kind Pod",
		"createCoreV1NamespacedPod":                  "POST /namespaces/{namespace}/pods create a Pod",
		"createCoreV1Binding":                        "POST /bindings create a Binding",
		"readCoreV1NamespacedPod":                    "GET /namespaces/{namespace}/pods/{name} read the specified Pod",
		"replaceCoreV1NamespacedPodStatus":           "PUT /namespaces/{namespace}/pods/{name}/status replace status of the specified Pod",
		"patchCoreV1NamespacedPodScale":              "PATCH /namespaces/{namespace}/pods/{name}/scale partially update scale of the specified Pod",
		"deleteCoreV1CollectionNamespacedPod":        "DELETE /namespaces/{namespace}/pods delete collection of Pod",
		"watchCoreV1PodListForAllNamespaces":         "GET /watch/pods watch individual changes to a list of Pod. deprecated: use the 'watch' parameter with a list operation instead.",
		"watchCoreV1NamespacedPod":                   "GET /watch/namespaces/{namespace}/pods/{name} watch changes to an object of kind Pod. deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter.",
		"connectCoreV1GetNamespacedPodExec":          "GET /namespaces/{namespace}/pods/{name}/exec connect GET requests to exec of Pod",
		"connectCoreV1PostNamespacedPodExecWithPath": "POST /namespaces/{namespace}/pods/{name}/exec/{path:*} connect POST requests to exec of Pod",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
}

func TestParameters(t *testing.T) {
	want := map[string][]string{
		"patchCoreV1NamespacedPod":          {"body", "dryRun", "fieldManager", "fieldValidation", "force", "name", "namespace", "pretty"},
		"deleteCoreV1NamespacedPod":         {"body", "dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential", "name", "namespace", "orphanDependents", "pretty", "propagationPolicy"},
		"connectCoreV1GetNamespacedPodExec": {"command", "container", "name", "namespace", "stderr", "stdin", "stdout", "tty"},
	}
	for _, r := range documented() {
		names, ok := want[r.Operation]
		if !ok {
			continue
		}
		delete(want, r.Operation)
		var got []string
		for _, p := range r.ParameterDocs {
			got = append(got, p.Data().Name)
			if p.Data().Name != "body" && p.Data().Description == "" && !strings.HasPrefix(r.Operation, "connect") {
				t.Errorf("%s: %s is not described", r.Operation, p.Data().Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, names) {
			t.Errorf("%s: %q", r.Operation, got)
		}
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}
