// A conversion webhook in every request that reads or writes a custom resource.

package extensions

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"triplane.dev/e2e/harness"
)

const hostsCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"hosts.example.com"},
"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"hosts","kind":"Host"},"versions":[
{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
 "hostPort":{"type":"string"},"note":{"type":"string"}}}}}}},
{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
 "host":{"type":"string"},"port":{"type":"string"},"note":{"type":"string"}}}}}}}]}}`

// hostConverter is a conversion webhook: v1 has host and port in one field.
type hostConverter struct {
	*httptest.Server
	// broken has it refuse to convert, mutating has it change the UID.
	broken, mutating atomic.Bool
}

func newHostConverter(t *testing.T) *hostConverter {
	c := &hostConverter{}
	c.Server = httptest.NewTLSServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *hostConverter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var review apiextensionsv1.ConversionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &apiextensionsv1.ConversionResponse{UID: review.Request.UID,
		Result: metav1.Status{Status: metav1.StatusSuccess}}
	if c.broken.Load() {
		review.Response.Result = metav1.Status{Status: metav1.StatusFailure, Message: "out of order"}
	}
	for _, raw := range review.Request.Objects {
		review.Response.ConvertedObjects = append(review.Response.ConvertedObjects,
			runtime.RawExtension{Object: c.convert(raw.Raw, review.Request.DesiredAPIVersion)})
	}
	review.Request = nil
	_ = json.NewEncoder(w).Encode(review)
}

func (c *hostConverter) convert(raw []byte, to string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return u
	}
	u.SetAPIVersion(to)
	u.SetAnnotations(map[string]string{"converted": "to " + to})
	if c.mutating.Load() {
		u.SetUID("another")
	}
	// Managed fields have parts of objects converted, too.
	spec, _, _ := unstructured.NestedStringMap(u.Object, "spec")
	if hostPort, found := spec["hostPort"]; found && strings.HasSuffix(to, "/v2") {
		spec["host"], spec["port"], _ = strings.Cut(hostPort, ":")
		delete(spec, "hostPort")
	}
	if h, found := spec["host"]; found && strings.HasSuffix(to, "/v1") {
		spec["hostPort"] = h + ":" + spec["port"]
		delete(spec, "host")
		delete(spec, "port")
	}
	_ = unstructured.SetNestedStringMap(u.Object, spec, "spec")
	return u
}

// TestConversionWebhook uses a resource whose versions a webhook converts, in all
// ways that read or write.
func TestConversionWebhook(t *testing.T) {
	s := harness.Start(t)
	hook := newHostConverter(t)
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON([]byte(hostsCRD)); err != nil {
		t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	crd.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
		"conversionReviewVersions": []any{"v1"},
		"clientConfig":             map[string]any{"url": hook.URL + "/convert", "caBundle": jsonBytes(t, ca)},
	}}
	client := dynamic.NewForConfigOrDie(s.Config)
	crds := client.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	at := func(version string) dynamic.ResourceInterface {
		return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "hosts"}).
			Namespace("default")
	}
	v1, v2 := at("v1"), at("v2")
	harness.Eventually(t, func() error { _, err := v2.List(t.Context(), metav1.ListOptions{}); return err })

	events := watchHosts(t, v2)
	created, err := v2.Create(t.Context(), host("v2", "a", map[string]any{"host": "h", "port": "80"}),
		metav1.CreateOptions{})
	wantField(t, "created", created, err, "host", "h")
	wantEvent(t, events, watch.Added, "80")
	got, err := v1.Get(t.Context(), "a", metav1.GetOptions{})
	wantField(t, "stored", got, err, "hostPort", "h:80")
	got, err = v2.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"port":"81"}}`), metav1.PatchOptions{})
	wantField(t, "patched", got, err, "port", "81")
	wantEvent(t, events, watch.Modified, "81")
	apply := `{"apiVersion":"example.com/v1","kind":"Host","metadata":{"name":"a"},"spec":{"note":"n"}}`
	got, err = v1.Patch(t.Context(), "a", types.ApplyPatchType, []byte(apply), metav1.PatchOptions{FieldManager: "one"})
	wantField(t, "applied", got, err, "hostPort", "h:81")
	wantEvent(t, events, watch.Modified, "81")
	got, err = v2.Patch(t.Context(), "a", types.ApplyPatchType, []byte(strings.Replace(apply, "v1", "v2", 1)),
		metav1.PatchOptions{FieldManager: "one"})
	wantField(t, "applied in another version", got, err, "note", "n")
	list, err := v2.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetAnnotations()["converted"] != "to example.com/v2" {
		t.Fatalf("list: %v %v", list, err)
	}

	wantInitialEvents(t, v2)

	hook.mutating.Store(true)
	_, err = v1.Create(t.Context(), host("v1", "b", map[string]any{"hostPort": "i:90"}), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = v2.Get(t.Context(), "b", metav1.GetOptions{})
	wantError(t, "another UID", err, "returned invalid object: must have the same UID")
	hook.mutating.Store(false)

	hook.broken.Store(true)
	if _, err = v1.Create(t.Context(), host("v1", "c", map[string]any{"hostPort": "j:1"}),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const broken = "conversion webhook for example.com/v1, Kind=Host failed: out of order"
	_, err = v2.Get(t.Context(), "c", metav1.GetOptions{})
	wantError(t, "get", err, broken)
	_, err = v2.List(t.Context(), metav1.ListOptions{})
	wantError(t, "list", err, broken)
	_, err = v2.Patch(t.Context(), "c", types.MergePatchType, []byte(`{"spec":{"port":"2"}}`), metav1.PatchOptions{})
	wantError(t, "patch", err, broken)
	wantError(t, "delete", v2.Delete(t.Context(), "c", metav1.DeleteOptions{}), broken)
	wantError(t, "deletecollection", v2.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}),
		broken)
	if list, err = v1.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 3 {
		t.Errorf("objects are gone although their deletion failed: %v %v", list, err)
	}

	hook.broken.Store(false)
	if err = v2.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if list, err = v1.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 0 {
		t.Errorf("left: %v %v", list, err)
	}
}

// jsonBytes is how JSON writes bytes.
func jsonBytes(t *testing.T, b []byte) string {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(text), `"`)
}

func host(version, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/" + version, "kind": "Host", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func watchHosts(t *testing.T, r dynamic.ResourceInterface) <-chan watch.Event {
	t.Helper()
	w, err := r.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w.ResultChan()
}

func wantField(t *testing.T, what string, u *unstructured.Unstructured, err error, field, want string) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got, _, _ := unstructured.NestedString(u.Object, "spec", field); got != want {
		t.Fatalf("%s: %v", what, u.Object)
	}
}

func wantEvent(t *testing.T, events <-chan watch.Event, kind watch.EventType, port string) {
	t.Helper()
	select {
	case e := <-events:
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type != kind {
			t.Fatalf("got %s %v, want %s", e.Type, e.Object, kind)
		}
		wantField(t, "event", u, nil, "port", port)
	case <-time.After(30 * time.Second):
		t.Fatalf("no event %s", kind)
	}
}

// wantInitialEvents watches as informers do: the bookmark behind the objects has to come as
// it is, although the webhook replaces the annotations of what it converts.
func wantInitialEvents(t *testing.T, r dynamic.ResourceInterface) {
	t.Helper()
	initial := true
	w, err := r.Watch(t.Context(), metav1.ListOptions{
		SendInitialEvents: &initial, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	wantEvent(t, w.ResultChan(), watch.Added, "81")
	select {
	case e := <-w.ResultChan():
		u, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type != watch.Bookmark || u.GetAPIVersion() != "example.com/v2" ||
			u.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
			t.Errorf("after the initial events: %s %v", e.Type, e.Object)
		}
	case <-time.After(30 * time.Second):
		t.Error("no bookmark after the initial events")
	}
}

func wantError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", what, err, want)
	}
}
