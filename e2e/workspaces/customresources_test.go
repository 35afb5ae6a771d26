// Custom resources of all workspaces, whose definitions may differ.
package workspaces

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"triplane.dev"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
	"triplane.dev/workspaces/transport"
)

func dynamicOf(t *testing.T, config *rest.Config) dynamic.Interface {
	t.Helper()
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// widget creates a Widget of a version.
func widget(t *testing.T, config *rest.Config, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": resource.GroupVersion().String(), "kind": "Widget",
		"metadata": map[string]any{"name": name, "labels": map[string]any{"name": name}, "annotations": map[string]any{transport.Annotation: "forged"}},
		"spec":     map[string]any{"size": int64(len(name))}}}
	var objects dynamic.ResourceInterface = dynamicOf(t, config).Resource(resource)
	if namespace != "" {
		objects = dynamicOf(t, config).Resource(resource).Namespace(namespace)
	}
	if _, err := objects.Create(bounded(t), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// places returns the objects of a list as WORKSPACE/NAME, with their version.
func places(list *unstructured.UnstructuredList) string {
	have := []string{}
	for _, o := range list.Items {
		have = append(have, o.GetAnnotations()[transport.Annotation]+"/"+o.GetName())
		if o.GetAPIVersion() != list.GetAPIVersion() {
			have = append(have, "of "+o.GetAPIVersion())
		}
	}
	return fmt.Sprint(have)
}

// Lists and watches of a custom resource wake no workspace, as tables and metadata, too, and a watch sees writes in several
// workspaces, among them one that is created later.
func TestAllWorkspacesCustomResources(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithOptions(func(o *triplane.Options) { o.Workspaces.IdleTimeout = time.Second }))
	ctx := bounded(t)
	all := dynamicOf(t, s.InWorkspace("*")).Resource(widgets)
	if _, err := all.List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a resource that no workspace has: %v", err)
	}
	for _, name := range []string{"a", "b"} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		createWidgets(t, s.InWorkspace(name))
		for _, w := range []string{"one", "two"} {
			widget(t, s.InWorkspace(name), widgets, "default", w)
		}
	}
	await(t, "sleep", func() (bool, error) { return state(t, s, "asleep") == "2", nil })
	for options, want := range map[metav1.ListOptions]string{
		{}:                                      "[a/one b/one a/two b/two]",
		{LabelSelector: "name=one"}:             "[a/one b/one]",
		{FieldSelector: "metadata.name=two"}:    "[a/two b/two]",
		{FieldSelector: "metadata.namespace=x"}: "[]",
		{ResourceVersion: "0", Limit: 10}:       "[a/one b/one a/two b/two]",
	} {
		found, err := all.List(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		if have := places(found); have != want || found.GetKind() != "WidgetList" {
			t.Errorf("%+v found %s of %s, want %s", options, have, found.GetKind(), want)
		}
	}
	first, err := all.Namespace("default").List(ctx, metav1.ListOptions{Limit: 3})
	if err != nil {
		t.Fatal(err)
	}
	second, err := all.Namespace("default").List(ctx, metav1.ListOptions{Limit: 3, Continue: first.GetContinue()})
	if err != nil || places(first)+places(second) != "[a/one b/one a/two][b/two]" {
		t.Errorf("pages: %s, %v, %v", places(first), second, err)
	}
	testForms(t, s)

	initial := true
	watched, err := all.Watch(ctx, metav1.ListOptions{SendInitialEvents: &initial, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, LabelSelector: "name!=two"})
	if err != nil {
		t.Fatal(err)
	}
	defer watched.Stop()
	expect := func(want ...string) {
		t.Helper()
		for _, w := range want {
			e, ok := <-watched.ResultChan()
			o, is := e.Object.(*unstructured.Unstructured)
			if !ok || !is {
				t.Fatalf("the watch received %v, want %s", e, w)
			}
			if have := fmt.Sprint(e.Type, " ", o.GetAnnotations()[transport.Annotation], "/", o.GetName()); have != w {
				t.Fatalf("the watch received %s, want %s", have, w)
			}
		}
	}
	expect("ADDED a/one", "ADDED b/one", "BOOKMARK /")
	if awake := state(t, s, "awake"); awake != "0" {
		t.Errorf("reads woke %s workspaces", awake)
	}
	widget(t, s.InWorkspace("a"), widgets, "default", "new")
	expect("ADDED a/new")
	widget(t, s.InWorkspace("b"), widgets, "default", "new")
	expect("ADDED b/new")
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "c"}})
	createWidgets(t, s.InWorkspace("c"))
	widget(t, s.InWorkspace("c"), widgets, "default", "one")
	expect("ADDED c/one")
	if err := dynamicOf(t, s.InWorkspace("a")).Resource(widgets).Namespace("default").Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("DELETED a/one")
}

// testForms reads tables and metadata.
func testForms(t *testing.T, s *testserver.Server) {
	t.Helper()
	ctx := bounded(t)
	raw, err := clientOf(t, s.InWorkspace("*")).RESTClient().Get().AbsPath("/apis/example.com/v1/widgets").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 4 || len(table.ColumnDefinitions) != 2 || table.Rows[0].Cells[0] != "one" ||
		!strings.Contains(string(table.Rows[1].Object.Raw), `"workspaces.triplane.dev/workspace":"b"`) {
		t.Errorf("the table is %s", raw)
	}
	partial, err := metadata.NewForConfig(s.InWorkspace("*"))
	if err != nil {
		t.Fatal(err)
	}
	found, err := partial.Resource(widgets).List(ctx, metav1.ListOptions{LabelSelector: "name=one"})
	if err != nil || len(found.Items) != 2 || found.Items[1].Annotations[transport.Annotation] != "b" {
		t.Errorf("the metadata is %v, %v", found, err)
	}
}

// definition creates or replaces the definition of widgets, and returns when it is established.
func definition(t *testing.T, config *rest.Config, spec string) {
	t.Helper()
	crds := dynamicOf(t, config).Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
		"spec":{"group":"example.com",`+spec+`}}`), &object.Object); err != nil {
		t.Fatal(err)
	}
	if _, err := crds.Apply(bounded(t), "widgets.example.com", object, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
		t.Fatal(err)
	}
	await(t, "the definition", func() (bool, error) {
		crd, err := crds.Get(bounded(t), "widgets.example.com", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return strings.Contains(fmt.Sprint(conditions), "status:True type:Established"), nil
	})
}

// served is a version of a definition.
func served(name string, storage bool) string {
	return fmt.Sprintf(`{"name":%q,"served":true,"storage":%v,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}`,
		name, storage)
}

const (
	namespaced = `"scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"}`
	cluster    = `"scope":"Cluster","names":{"plural":"widgets","kind":"Widget"}`
)

// Objects are in a version if the definition of their workspace serves it, and has the scope and names of most. A warning
// names the other workspaces. A watch ends when there are more objects to read.
func TestDefinitionsDiffer(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces())
	ctx := bounded(t)
	v2 := widgets.GroupResource().WithVersion("v2")
	for name, spec := range map[string]string{
		"a": namespaced + `,"versions":[` + served("v1", true) + `]`,
		"b": namespaced + `,"versions":[` + served("v1", false) + `,` + served("v2", true) + `]`,
		"c": cluster + `,"versions":[` + served("v1", true) + `]`,
		"d": namespaced + `,"versions":[` + served("v1", true) + `,` + served("v2", false) + `],"conversion":{"strategy":"Webhook",
			"webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"url":"https://127.0.0.1:1/"}}}`,
	} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		definition(t, s.InWorkspace(name), spec)
		namespace, version := "default", widgets
		if name == "b" {
			version = v2
		}
		if name == "c" {
			namespace = ""
		}
		widget(t, s.InWorkspace(name), version, namespace, "w")
	}
	warnings := &warned{}
	config := s.InWorkspace("*")
	config.WarningHandlerWithContext = warnings
	all := dynamicOf(t, config)
	read := func(resource schema.GroupVersionResource, want, warned string) {
		t.Helper()
		await(t, resource.Version+" as "+want, func() (bool, error) {
			warnings.last = ""
			found, err := all.Resource(resource).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=w"})
			return err == nil && places(found) == want && strings.Contains(warnings.last, warned), ignoring(err, apierrors.IsNotFound)
		})
	}
	read(widgets, "[a/w b/w d/w]", "the objects of c are not included")
	read(v2, "[b/w]", "the objects of a, c, d are not included")
	found, err := all.Resource(v2).Namespace("w").List(ctx, metav1.ListOptions{})
	if err != nil || len(found.Items) != 0 {
		t.Errorf("a namespace with the name of an object of the cluster has %v, %v", found, err)
	}
	watched, err := all.Resource(v2).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	definition(t, s.InWorkspace("a"), namespaced+`,"versions":[`+served("v1", true)+`,`+served("v2", false)+`]`)
	for e := range watched.ResultChan() { // until it ends, which may be after those of a are included
		if o, is := e.Object.(*unstructured.Unstructured); is {
			if of := o.GetAnnotations()[transport.Annotation]; of != "a" && of != "b" {
				t.Errorf("the watch received %s of %s", e.Type, of)
			}
		}
	}
	read(v2, "[a/w b/w]", "the objects of c, d are not included")
	// The definition of another workspace does not hide the objects of those that have one like before.
	create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: "e"}})
	definition(t, s.InWorkspace("e"), strings.Replace(namespaced, `"Widget"`, `"Gadget"`, 1)+`,"versions":[`+served("v1", true)+`]`)
	read(widgets, "[a/w b/w d/w]", "the objects of c, e are not included")
}

// warned keeps the last warning.
type warned struct{ last string }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warned) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code == 299 {
		w.last = text
	}
}
