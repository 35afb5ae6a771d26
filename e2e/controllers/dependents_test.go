// The garbage collector, with each propagation policy.

package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"triplane.dev/e2e/harness"
)

// TestDependents deletes owners, custom and built-in, with each policy.
func TestDependents(t *testing.T) {
	s, client := harness.StartControlled(t)
	harness.ServeWidgets(t, s)
	objects := dynamic.NewForConfigOrDie(s.Config)
	maps := objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	custom := objects.Resource(harness.Widgets).Namespace("default")
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground,
		metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			p := strings.ToLower(string(policy))
			ctx := t.Context()
			top := create(t, custom, "Widget", p+"-top")
			middle := create(t, maps, "ConfigMap", p+"-middle", top)
			create(t, custom, "Widget", p+"-bottom", middle)
			other := create(t, maps, "ConfigMap", p+"-other")
			create(t, maps, "ConfigMap", p+"-shared", top, other)
			if err := custom.Delete(ctx, p+"-top", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			harness.Gone(t, func() error { _, err := custom.Get(ctx, p+"-top", metav1.GetOptions{}); return err })
			if policy == metav1.DeletePropagationOrphan {
				for _, name := range []string{"-middle", "-shared"} {
					o, err := maps.Get(ctx, p+name, metav1.GetOptions{})
					if err != nil || slices.ContainsFunc(o.GetOwnerReferences(),
						func(r metav1.OwnerReference) bool { return r.UID == top.GetUID() }) {
						t.Errorf("%s: %v %v", p+name, o, err)
					}
				}
				return
			}
			if _, err := maps.Get(ctx, p+"-middle",
				metav1.GetOptions{}); policy == metav1.DeletePropagationForeground && !apierrors.IsNotFound(err) {
				t.Errorf("the dependent is there after its owner: %v", err)
			}
			harness.Gone(t, func() error { _, err := maps.Get(ctx, p+"-middle", metav1.GetOptions{}); return err })
			harness.Gone(t, func() error { _, err := custom.Get(ctx, p+"-bottom", metav1.GetOptions{}); return err })
			harness.Eventually(t, func() error {
				o, err := maps.Get(ctx, p+"-shared", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != other.GetUID() {
					return fmt.Errorf("owners %v", refs)
				}
				return nil
			})
		})
	}
	t.Run("absent and in another namespace", func(t *testing.T) {
		ctx := t.Context()
		s.Kubectl(t, "create", "namespace", "elsewhere")
		far := create(t, objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("elsewhere"),
			"ConfigMap", "far")
		never := far.DeepCopy()
		never.SetUID(types.UID("00000000-0000-4000-8000-000000000000"))
		create(t, custom, "Widget", "of-none", never)
		create(t, maps, "ConfigMap", "of-far", far)
		roles := objects.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1",
			Resource: "clusterroles"})
		create(t, roles, "ClusterRole", "scoped", far)
		harness.Gone(t, func() error { _, err := custom.Get(ctx, "of-none", metav1.GetOptions{}); return err })
		harness.Gone(t, func() error { _, err := maps.Get(ctx, "of-far", metav1.GetOptions{}); return err })
		for _, name := range []string{"of-far", "scoped"} {
			harness.Eventually(t, func() error {
				events, err := client.CoreV1().Events("default").List(ctx,
					metav1.ListOptions{FieldSelector: "reason=OwnerRefInvalidNamespace,involvedObject.name=" + name})
				if err == nil && len(events.Items) == 0 {
					err = fmt.Errorf("no event of %s", name)
				}
				return err
			})
		}
		if _, err := roles.Get(ctx, "scoped", metav1.GetOptions{}); err != nil {
			t.Errorf("what cannot be resolved is deleted: %v", err)
		}
	})
}

// create creates an object with owners, each of which waits for it.
func create(t *testing.T, objects dynamic.ResourceInterface, kind, name string,
	owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	switch kind {
	case "Widget":
		u.Object["apiVersion"], u.Object["spec"] = "example.com/v1", map[string]any{"size": int64(1)}
	case "ClusterRole":
		u.Object["apiVersion"] = "rbac.authorization.k8s.io/v1"
	}
	u.SetName(name)
	block := true
	var refs []metav1.OwnerReference
	for _, o := range owners {
		refs = append(refs, metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(),
			UID: o.GetUID(), BlockOwnerDeletion: &block})
	}
	u.SetOwnerReferences(refs)
	made, err := objects.Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}
