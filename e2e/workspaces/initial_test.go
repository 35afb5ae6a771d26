// The objects that a workspace has at first.
package workspaces

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// with returns a workspace with initial objects.
func with(name string, manifests ...string) *workspaces.Workspace {
	w := &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, m := range manifests {
		w.Spec.Initial = append(w.Spec.Initial, runtime.RawExtension{Raw: []byte(m)})
	}
	return w
}

// readiness returns the status, reason and message of the condition Ready.
func readiness(t *testing.T, s *testserver.Server, name string) (ready, reason, message string) {
	t.Helper()
	u, err := objects(t, s).Get(bounded(t), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var w workspaces.Workspace
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &w); err != nil {
		t.Fatal(err)
	}
	for _, c := range w.Status.Conditions {
		if c.Type == workspaces.Ready {
			return string(c.Status), c.Reason, c.Message
		}
	}
	return "", "", ""
}

// A workspace is ready when its initial objects exist: a namespace, a definition and an object of it among them.
func TestInitialObjects(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithControllers())
	ctx := bounded(t)
	create(t, s, with("a", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"}}`,
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.example.com"},
			"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1",
			"served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`,
		`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"shop"},"size":1}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"plain"},"data":{"a":"b"}}`))
	await(t, "the initial objects", func() (bool, error) {
		ready, reason, message := readiness(t, s, "a")
		if reason == "InitialObjectsFailed" {
			return false, fmt.Errorf("%s", message)
		}
		return ready == "True", nil
	})
	client, err := dynamic.NewForConfig(s.InWorkspace("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(widgets).Namespace("shop").Get(ctx, "w", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if m, err := clientOf(t, s.InWorkspace("a")).CoreV1().ConfigMaps("default").Get(ctx, "plain", metav1.GetOptions{}); err != nil || m.Data["a"] != "b" {
		t.Errorf("%v, %v", m, err)
	}
	_, err = objects(t, s).Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"initial":null}}`), metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("the initial objects were changed: %v", err)
	}
}

// A failure is in the condition Ready, the quota counts, and what is no object is rejected.
func TestInitialObjectsThatFail(t *testing.T) {
	s := testserver.Start(t, testserver.WithWorkspaces())
	create(t, s, with("a", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Not A Name"}}`))
	await(t, "the failure", func() (bool, error) {
		ready, reason, message := readiness(t, s, "a")
		return ready == "False" && reason == "InitialObjectsFailed" && strings.Contains(message, "spec.initial[0]: ConfigMap Not A Name"), nil
	})
	limited, none := with("b", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}}`), int64(0)
	limited.Spec.Quota = &workspaces.Quota{Objects: &none}
	create(t, s, limited)
	await(t, "the quota", func() (bool, error) {
		_, _, message := readiness(t, s, "b")
		return strings.Contains(message, "exceeded quota"), nil
	})
	for _, wrong := range []string{`[]`, `"text"`, `{}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"m-"}}`} {
		body := `{"apiVersion":"workspaces.triplane.dev/v1alpha1","kind":"Workspace","metadata":{"name":"c"},"spec":{"initial":[` + wrong + `]}}`
		err := clientOf(t, s.Config()).RESTClient().Post().AbsPath("/apis/workspaces.triplane.dev/v1alpha1/workspaces").
			SetHeader("Content-Type", "application/json").Body([]byte(body)).Do(bounded(t)).Error()
		if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
