package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/admission"
	"triplane/kubeapi/group"
)

// newest returns the newest of the objects that pick chooses; of the same age
// the first by name.
func newest[T group.Object](list []T, pick func(T) bool) (best T, found bool) {
	for _, o := range list {
		if !pick(o) {
			continue
		}
		at := o.GetCreationTimestamp()
		if !found {
			best, found = o, true
			continue
		}
		bestAt := best.GetCreationTimestamp()
		if bestAt.Before(&at) || bestAt.Equal(&at) && o.GetName() < best.GetName() {
			best = o
		}
	}
	return best, found
}

func cached() *metainternalversion.ListOptions {
	return &metainternalversion.ListOptions{ResourceVersion: group.Cached}
}

// defaultStorageClass gives claims that name no class the default one.
type defaultStorageClass struct{ stores *group.Stores }

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
	all, err := group.List[*storagev1.StorageClass](ctx, d.stores, schema.GroupResource{Group: "storage.k8s.io", Resource: "storageclasses"}, "", cached())
	if err != nil {
		return forbidden(a, "%w", err)
	}
	class, ok := newest(all, func(s *storagev1.StorageClass) bool {
		return s.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" || s.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
	})
	if ok {
		c.Spec.StorageClassName = &class.Name
	}
	return nil
}

// defaultIngressClass gives ingresses that name no class the default one.
type defaultIngressClass struct{ stores *group.Stores }

// Handles implements admission.Interface.
func (*defaultIngressClass) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutatingInterface.
func (d *defaultIngressClass) Admit(ctx context.Context, a *admission.Attributes) error {
	in, ok := a.Object.(*networkingv1.Ingress)
	if !ok || a.Subresource != "" || in.Spec.IngressClassName != nil {
		return nil
	}
	if in.Annotations["kubernetes.io/ingress.class"] != "" {
		return nil
	}
	all, err := group.List[*networkingv1.IngressClass](ctx, d.stores, schema.GroupResource{Group: "networking.k8s.io", Resource: "ingressclasses"}, "", cached())
	if err != nil {
		return forbidden(a, "%w", err)
	}
	class, ok := newest(all, func(c *networkingv1.IngressClass) bool {
		return c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
	})
	if ok {
		in.Spec.IngressClassName = &class.Name
	}
	return nil
}

// storageProtection keeps volumes, claims and attribute classes that are in use: a controller takes
// the finalizers away.
type storageProtection struct{}

// Handles implements admission.Interface.
func (storageProtection) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutatingInterface.
func (storageProtection) Admit(_ context.Context, a *admission.Attributes) error {
	if a.Subresource != "" {
		return nil
	}
	switch o := a.Object.(type) {
	case *corev1.PersistentVolume:
		addFinalizer(&o.ObjectMeta, "kubernetes.io/pv-protection")
	case *corev1.PersistentVolumeClaim:
		addFinalizer(&o.ObjectMeta, "kubernetes.io/pvc-protection")
	case *storagev1.VolumeAttributesClass:
		addFinalizer(&o.ObjectMeta, "kubernetes.io/vac-protection")
	}
	return nil
}

func addFinalizer(m *metav1.ObjectMeta, name string) {
	for _, f := range m.Finalizers {
		if f == name {
			return
		}
	}
	m.Finalizers = append(m.Finalizers, name)
}
