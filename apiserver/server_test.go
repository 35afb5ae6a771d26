package apiserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/apiserver"
	"triplane.dev/generic/api/rest"
)

// standalone starts a server that is stopped at the end of the test.
func standalone(t *testing.T, s apiserver.Server) *apiserver.Running {
	t.Helper()
	o := apiserver.NewOptions(&s)
	o.DataDir, o.Standalone, o.Etcd.Memory, o.SecureServing.BindPort = t.TempDir(), true, true, 0
	r, err := apiserver.Start(context.Background(), &s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func tree(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": forest.String(), "kind": "Tree", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

func TestServersRunSideBySideAndLeaveNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("run", func(t *testing.T) {
		one, two := standalone(t, forester()), standalone(t, forester())
		if one.Address() == two.Address() {
			t.Error("they listen at the same address")
		}
		grove := dynamic.NewForConfigOrDie(one.ClientConfig()).Resource(forest.WithResource("trees")).Namespace("grove")
		if err := grove.Delete(t.Context(), "oak", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		grove = dynamic.NewForConfigOrDie(two.ClientConfig()).Resource(forest.WithResource("trees")).Namespace("grove")
		if _, err := grove.Get(t.Context(), "oak", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
	goleak.VerifyNone(t, before)
}

// TestSpecAndStatus writes each through its endpoint, over TLS.
func TestSpecAndStatus(t *testing.T) {
	r, ctx := standalone(t, forester()), t.Context()
	config, err := clientcmd.BuildConfigFromFlags("", r.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	grove := dynamic.NewForConfigOrDie(config).Resource(forest.WithResource("trees")).Namespace("grove")
	elm := tree("elm", map[string]any{"species": "ulmus"})
	elm.Object["status"] = map[string]any{"rings": int64(9)}
	apply := metav1.ApplyOptions{FieldManager: "gardener"}
	steps := []struct {
		name string
		do   func() (*unstructured.Unstructured, error)
		want string // spec, status and generation
	}{
		{"create", func() (*unstructured.Unstructured, error) { return grove.Apply(ctx, "elm", elm, apply) }, "map[height:10 species:ulmus] map[] 1"},
		{"status", func() (*unstructured.Unstructured, error) {
			return grove.Patch(ctx, "elm", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"height":3},"status":{"rings":1}}`), metav1.PatchOptions{}, "status")
		}, "map[height:10 species:ulmus] map[rings:1] 1"},
		{"spec", func() (*unstructured.Unstructured, error) {
			return grove.Patch(ctx, "elm", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"c"}},"spec":{"height":3},"status":{"rings":2}}`), metav1.PatchOptions{})
		}, "map[height:3 species:ulmus] map[rings:1] 2"},
		{"labels", func() (*unstructured.Unstructured, error) {
			return grove.Patch(ctx, "elm", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"d"}}}`), metav1.PatchOptions{})
		}, "map[height:3 species:ulmus] map[rings:1] 2"},
	}
	for _, s := range steps {
		got, err := s.do()
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if text := fmt.Sprint(got.Object["spec"], got.Object["status"], got.GetGeneration()); text != s.want || s.name == "status" && len(got.GetLabels()) > 0 {
			t.Errorf("%s: %s with labels %v, want %s", s.name, text, got.GetLabels(), s.want)
		}
	}
	list, err := grove.List(ctx, metav1.ListOptions{FieldSelector: "spec.species=ulmus"})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	// Only the administrator's certificate grants access.
	config.CertData, config.KeyData = nil, nil
	if _, err := dynamic.NewForConfigOrDie(config).Resource(forest.WithResource("trees")).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("anybody lists: %v", err)
	}
}

func TestPathsAndDocuments(t *testing.T) {
	r := standalone(t, forester())
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its certificate is its own
	defer client.CloseIdleConnections()
	for path, code := range map[string]int{"/healthz": 200, "/greeting": 403, "/apis": 403} {
		resp, err := client.Get("https://" + r.Address() + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != code {
			t.Errorf("%s: %s, want %d", path, resp.Status, code)
		}
	}
	inside := &http.Client{Transport: r.ClientConfig().Transport}
	for path, want := range map[string]string{
		"/greeting":                              "hello from the forest",
		"/openapi/v2":                            `"description":"What is planted."`,
		"/openapi/v3/apis/forest.example.com/v1": "apiserver_test.TreeList",
	} {
		resp, err := inside.Get("http://loopback.invalid" + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !bytes.Contains(body, []byte(want)) {
			t.Errorf("%s: no %q, %v", path, want, err)
		}
	}
}

// Count is a kind that is not stored.
type Count struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Trees             int32 `json:"trees"`
}

// DeepCopyObject implements runtime.Object.
func (c *Count) DeepCopyObject() runtime.Object { return apiserver.DeepCopy(c) }

// counts serves gets.
func counts() rest.Resource {
	return rest.Resource{
		New: func() runtime.Object { return &Count{} }, Kind: forest.WithKind("Count"),
		Get: func(_ context.Context, r rest.GetRequest) (runtime.Object, error) {
			return &Count{ObjectMeta: metav1.ObjectMeta{Name: r.Name}, Trees: 42}, nil
		},
	}
}

func TestResourcesThatAreComputed(t *testing.T) {
	s := forester()
	s.Groups[0].Resources = append(s.Groups[0].Resources, apiserver.NewStorage("v1", "counts", counts()))
	r := standalone(t, s)
	all := dynamic.NewForConfigOrDie(r.ClientConfig()).Resource(forest.WithResource("counts"))
	if got, err := all.Get(t.Context(), "a", metav1.GetOptions{}); err != nil || got.Object["trees"] != int64(42) || got.GetKind() != "Count" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := all.List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a list: %v", err)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	edit := func(f func(*apiserver.Kind[*Tree])) apiserver.Resource {
		kind := trees()
		f(&kind)
		return apiserver.NewResource(kind)
	}
	for want, group := range map[string]apiserver.Group{
		"a group needs Name, Versions and Resources":                                  {Name: forest.Group},
		`resource "trees": kind forest.example.com/v1, Kind=Tree is registered twice`: {Resources: []apiserver.Resource{apiserver.NewResource(trees()), apiserver.NewResource(trees())}},
		`resource "": Hub.Kind cannot be empty`: {Resources: []apiserver.Resource{edit(func(k *apiserver.Kind[*Tree]) {
			k.Hub.Kind = ""
		})}},
		"it is in none of the group's versions v2": {Versions: []string{"v2"}, Resources: []apiserver.Resource{apiserver.NewResource(trees())}},
		`version "v2" has no resources`:            {Versions: []string{"v1", "v2"}, Resources: []apiserver.Resource{apiserver.NewResource(trees())}},
		"is not of the group":                      {Resources: []apiserver.Resource{edit(func(k *apiserver.Kind[*Tree]) { k.Hub.Group = "other" })}},
		"its StorageVersion": {Resources: []apiserver.Resource{edit(func(k *apiserver.Kind[*Tree]) {
			k.Representation = apiserver.Typed[*Tree]{StorageVersion: forest.WithKind("Bush")}
		})}},
		"has columns without cells": {Resources: []apiserver.Resource{edit(func(k *apiserver.Kind[*Tree]) {
			k.Columns = []apiserver.Column{{Name: "Rings"}}
		})}},
		"created with NewResource": {Resources: []apiserver.Resource{{}}},
	} {
		if group.Name == "" {
			group.Name = forest.Group
		}
		if group.Versions == nil && group.Resources != nil {
			group.Versions = []string{"v1"}
		}
		s := apiserver.Server{Name: "forester", Groups: []apiserver.Group{group}}
		o := apiserver.NewOptions(&s)
		o.DataDir, o.Standalone, o.Etcd.Memory, o.SecureServing.BindPort = t.TempDir(), true, true, 0
		r, err := apiserver.Start(t.Context(), &s, o)
		if err == nil {
			t.Error(r.Stop())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestOptionsThatExclude(t *testing.T) {
	s := forester()
	o := apiserver.NewOptions(&s)
	o.Standalone, o.Core.KubeconfigFile = true, "k"
	if err := o.Validate(); err == nil || err.Error() != "--standalone and --kubeconfig exclude each other" {
		t.Error(err)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	o = apiserver.NewOptions(&s)
	o.DataDir, o.Etcd.Memory, o.SecureServing.BindPort = t.TempDir(), true, 0
	if _, err := apiserver.Start(t.Context(), &s, o); err == nil || !strings.Contains(err.Error(), "--standalone serves without") {
		t.Error(err)
	}
}
