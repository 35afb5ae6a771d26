package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// defaultStorageClass sets the default storage class on claims without one.
//
// Options: none. Metrics: none. Order: before ResourceQuota, which counts by class.
type defaultStorageClass struct{ stores *group.Stores }

func newDefaultStorageClass(d *Dependencies) admission.Interface {
	return &defaultStorageClass{stores: d.Stores}
}

// Handles implements admission.Interface.
func (*defaultStorageClass) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutatingInterface.
func (d *defaultStorageClass) Admit(ctx context.Context, a *admission.Attributes) error {
	c, ok := a.Object.(*corev1.PersistentVolumeClaim)
	if !ok || a.Subresource != "" || c.Spec.StorageClassName != nil {
		return nil
	}
	if _, ok := c.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		return nil
	}
	all, err := group.StorageClasses(d.stores).ListCached(request.SkippingUnreadable(ctx), "")
	if err != nil {
		return admission.Forbiddenf(a, "%w", err)
	}
	class, ok := newest(all, func(s *storagev1.StorageClass) bool {
		return s.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			s.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
	})
	if ok {
		c.Spec.StorageClassName = &class.Name
	}
	return nil
}
