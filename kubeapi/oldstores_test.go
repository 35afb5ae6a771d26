package kubeapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// oldObject is an object that an earlier release stored.
type oldObject struct {
	Path, Key, Written string
	Stored, Want       map[string]any
}

// TestOldStores reads, lists, watches and updates what earlier releases have stored in
// versions that are no longer written.
func TestOldStores(t *testing.T) {
	text, err := os.ReadFile("testdata/oldstores.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var objects []oldObject
	if err := yaml.Unmarshal(text, &objects); err != nil {
		t.Fatal(err)
	}
	forms := []string{"json", "protobuf"}
	var backend storage.Backend
	transport := startServerOver(t, enabled, func(_ *server.Config, b storage.Backend) storage.Backend {
		backend = b
		for i := range objects {
			for _, form := range forms {
				objects[i].store(t, b, fmt.Sprintf("old-%d-%s", i, form), form)
			}
		}
		return b
	})
	client := oldClient{t, transport}
	for i := range objects {
		o := &objects[i]
		t.Run(fmt.Sprintf("%d %v %v", i, o.Stored["apiVersion"], o.Stored["kind"]), func(t *testing.T) {
			client := oldClient{t, client.RoundTripper}
			listed := client.names(o.Path + o.selector())
			watched, stop := client.watch(o.Path)
			defer stop()
			for _, form := range forms {
				name := fmt.Sprintf("old-%d-%s", i, form)
				contains(t, name, client.do("GET", o.Path+"/"+name, ""), o.Want)
				contains(t, name+" as protobuf", client.protobuf(o.Path+"/"+name), o.Want)
				if !listed[name] {
					t.Errorf("%s is not in the list", name)
				}
				live := name + "-live"
				o.store(t, backend, live, form)
				watched.await(name, live)
				patched := client.do("PATCH", o.Path+"/"+name, `{"metadata":{"labels":{"touched":"yes"}}}`)
				contains(t, name+" updated", patched, o.Want)
				if got, want := storedVersion(t, backend, o.key(name)), o.written(); got != want {
					t.Errorf("%s is rewritten as %s, want %s", name, got, want)
				}
				contains(t, name+" rewritten", client.do("GET", o.Path+"/"+name, ""), o.Want)
			}
		})
	}
}

func (o *oldObject) key(name string) string { return "/registry/" + o.Key + "/" + name }

// selector is a query that selects the object by the labels that readers get.
func (o *oldObject) selector() string {
	has, _, _ := unstructured.NestedStringMap(o.Want, "metadata", "labels")
	return "?labelSelector=" + url.QueryEscape(labels.Set(has).String())
}

func (o *oldObject) written() string {
	if o.Written != "" {
		return o.Written
	}
	parts := strings.Split(o.Path, "/")
	if parts[1] == "api" {
		return parts[2]
	}
	return parts[2] + "/" + parts[3]
}

// store writes the object under a name as JSON or protobuf of its version.
func (o *oldObject) store(t *testing.T, b storage.Backend, name, form string) {
	t.Helper()
	u := (&unstructured.Unstructured{Object: o.Stored}).DeepCopy()
	u.SetName(name)
	u.SetUID("4c2a8e3d-8a0a-4a8e-9f0e-0d9ff6e1b6a1")
	if parts := strings.Split(o.Path, "/namespaces/"); len(parts) == 2 {
		u.SetNamespace(path.Dir(parts[1]))
	}
	text, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if form == "protobuf" {
		obj, err := scheme.Scheme.New(u.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, obj); err != nil {
			t.Fatal(err)
		}
		if text, err = wire.AppendProtobuf(nil, u.GroupVersionKind(), obj); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Create(t.Context(), o.key(name), text, 0); err != nil {
		t.Fatal(err)
	}
}

// storedVersion is the apiVersion of what a key holds, which is protobuf.
func storedVersion(t *testing.T, b storage.Backend, key string) string {
	t.Helper()
	kv, err := b.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	e, ok := wire.OpenEnvelope(kv.Value)
	if !ok {
		t.Fatalf("%s is no protobuf", key)
	}
	return string(e.APIVersion)
}

// oldClient makes requests of one test.
type oldClient struct {
	*testing.T
	http.RoundTripper
}

func (c oldClient) send(ctx context.Context, method, path, body string) *http.Response {
	c.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://triplane.test"+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	res, err := c.RoundTrip(req)
	if err != nil {
		c.Fatal(err)
	}
	return res
}

func (c oldClient) do(method, path, body string) map[string]any {
	c.Helper()
	res := c.send(c.Context(), method, path, body)
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil || res.StatusCode != http.StatusOK {
		c.Fatalf("%s %s: %d %s", method, path, res.StatusCode, text)
	}
	return out
}

// protobuf gets an object as protobuf.
func (c oldClient) protobuf(path string) map[string]any {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), http.MethodGet, "http://triplane.test"+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Accept", runtime.ContentTypeProtobuf)
	res, err := c.RoundTrip(req)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		c.Fatal(err)
	}
	text, err := json.Marshal(obj)
	if err != nil {
		c.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		c.Fatal(err)
	}
	return out
}

func (c oldClient) names(path string) map[string]bool {
	c.Helper()
	out := map[string]bool{}
	list := unstructured.Unstructured{Object: c.do("GET", path, "")}
	err := list.EachListItem(func(obj runtime.Object) error {
		if u, ok := obj.(*unstructured.Unstructured); ok {
			out[u.GetName()] = true
		}
		return nil
	})
	if err != nil {
		c.Fatal(err)
	}
	return out
}

// oldEvents are the events of a watch from the beginning.
type oldEvents struct {
	t    *testing.T
	seen map[string]bool
	next func() (string, error)
}

func (c oldClient) watch(path string) (*oldEvents, context.CancelFunc) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 30*time.Second)
	res := c.send(ctx, "GET", path+"?watch=true&resourceVersion=0", "") //nolint:bodyclose // by the function that is returned
	if res.StatusCode != http.StatusOK {
		c.Fatalf("watch of %s: %s", path, res.Status)
	}
	decoder := json.NewDecoder(res.Body)
	e := &oldEvents{t: c.T, seen: map[string]bool{}, next: func() (string, error) {
		var ev struct {
			Type   string
			Object unstructured.Unstructured
		}
		if err := decoder.Decode(&ev); err != nil {
			return "", err
		}
		if ev.Type != "ADDED" && ev.Type != "MODIFIED" {
			return "", fmt.Errorf("%s event: %v", ev.Type, ev.Object)
		}
		return ev.Object.GetName(), nil
	}}
	return e, func() { cancel(); _ = res.Body.Close() }
}

// await reads events until all objects have been seen.
func (e *oldEvents) await(names ...string) {
	e.t.Helper()
	for _, name := range names {
		for !e.seen[name] {
			got, err := e.next()
			if err != nil {
				e.t.Fatalf("waiting for %s: %v", name, err)
			}
			e.seen[got] = true
		}
	}
}

// contains fails where an object lacks something of want.
func contains(t *testing.T, what string, got, want any) {
	t.Helper()
	if path := lacks(got, want); path != "" {
		text, _ := json.Marshal(got)
		t.Errorf("%s: %s in %s", what, path, bytes.TrimSpace(text))
	}
}

// lacks returns where got is not as want has it, "" for nowhere.
func lacks(got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for k, v := range w {
			if p := lacks(g[k], v); p != "" {
				return "." + k + p
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return fmt.Sprintf(" has %d elements, not %d", len(g), len(w))
		}
		for i := range w {
			if p := lacks(g[i], w[i]); p != "" {
				return fmt.Sprintf("[%d]%s", i, p)
			}
		}
		return ""
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf(" is %v, not %v", got, want)
	}
	return ""
}
