package manifests

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// InventoryName is the name of the config map in kube-system that lists applied objects.
const InventoryName = "triplane-manifests"

// inventoryKey is the key of its data.
const inventoryKey = "objects"

// reference identifies an applied object.
type reference struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	File       string `json:"file"`
}

// identity is a reference without the parts that may change while the object stays the same.
type identity struct{ group, kind, namespace, name string }

func (r reference) identity() identity {
	gv, _ := schema.ParseGroupVersion(r.APIVersion) // an invalid one was not applied
	return identity{gv.Group, r.Kind, r.Namespace, r.Name}
}

func (r reference) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s", r.Kind, r.Name)
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// clients send requests as the manifests' user.
type clients struct {
	objects dynamic.Interface
	mapper  meta.ResettableRESTMapper
}

func configMaps() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("configmaps")
}

// inventory reads the applied objects.
func (c *clients) inventory(ctx context.Context) ([]reference, error) {
	found, err := c.objects.Resource(configMaps()).Namespace(metav1.NamespaceSystem).Get(ctx, InventoryName,
		metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, _ := found.Object["data"].(map[string]any)
	text, _ := data[inventoryKey].(string)
	var all []reference
	if err := json.Unmarshal([]byte(cmp.Or(text, "[]")), &all); err != nil {
		return nil, fmt.Errorf("config map %s: %w", InventoryName, err)
	}
	return all, nil
}

// setInventory writes the applied objects.
func (c *clients) setInventory(ctx context.Context, all []reference) error {
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": InventoryName, "namespace": metav1.NamespaceSystem},
		"data":     map[string]any{inventoryKey: string(text)}})
	if err != nil {
		return err
	}
	return c.patch(ctx, c.objects.Resource(configMaps()).Namespace(metav1.NamespaceSystem), InventoryName, patch)
}

// target returns the client of an object's resource, and its reference. An object of a namespaced kind without a
// namespace is in the namespace default.
func (c *clients) target(o object) (dynamic.ResourceInterface, reference, error) {
	gvk := o.GroupVersionKind()
	r := reference{APIVersion: o.GetAPIVersion(), Kind: gvk.Kind, Namespace: o.GetNamespace(), Name: o.GetName(),
		File: o.file}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, r, err
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		r.Namespace = ""
		return c.objects.Resource(mapping.Resource), r, nil
	}
	r.Namespace = cmp.Or(r.Namespace, metav1.NamespaceDefault)
	return c.objects.Resource(mapping.Resource).Namespace(r.Namespace), r, nil
}

// remove deletes an object of the inventory if it still belongs to its file.
func (c *clients) remove(ctx context.Context, r reference) (deleted bool, err error) {
	gvk := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind())
	if meta.IsNoMatchError(err) {
		return false, nil // its definition is deleted, and all objects with it
	}
	if err != nil {
		return false, err
	}
	var client dynamic.ResourceInterface = c.objects.Resource(mapping.Resource)
	if r.Namespace != "" {
		client = c.objects.Resource(mapping.Resource).Namespace(r.Namespace)
	}
	found, err := client.Get(ctx, r.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && found.GetAnnotations()[SourceAnnotation] != r.File {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	uid, policy := found.GetUID(), metav1.DeletePropagationBackground
	err = client.Delete(ctx, r.Name, metav1.DeleteOptions{PropagationPolicy: &policy,
		Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
