package handlers

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/authorizer"
)

func resourceOf(a *authorizer.Attributes) schema.GroupResource {
	return schema.GroupResource{Group: a.APIGroup, Resource: a.Resource}
}

// matchNamespace completes the namespace of an object from the path, or refuses
// another one. Cluster-scoped objects have none.
func matchNamespace(obj metav1.Object, namespace string) error {
	switch own := obj.GetNamespace(); {
	case own == namespace:
	case own == "" || namespace == "":
		obj.SetNamespace(namespace)
	default:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// checkName refuses an object whose name is not that of the path.
func checkName(obj runtime.Object, name string) error {
	m, err := meta.Accessor(obj)
	if err == nil && m.GetName() == "" {
		err = errors.New("name must be provided")
	}
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: %v",
			name, err))
	}
	if m.GetName() != name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)",
			m.GetName(), name))
	}
	return nil
}

// wipeSystemFields drops metadata that only the server sets, from objects to be created.
func wipeSystemFields(m metav1.Object) {
	m.SetCreationTimestamp(metav1.Time{})
	m.SetUID("")
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
}

// hasUID reports whether an object exists in storage.
func hasUID(obj runtime.Object) (bool, error) {
	if obj == nil {
		return false, nil
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return m.GetUID() != "", nil
}
