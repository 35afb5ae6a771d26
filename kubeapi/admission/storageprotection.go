package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/guard/admission"
)

// storageProtection adds the finalizers that delay the deletion of volumes, claims and volume attributes classes
// while they are in use. Controllers remove them.
//
// Options: none. Metrics: none. Order: any.
type storageProtection struct{}

func newStorageProtection(_ *Dependencies) admission.Interface {
	return storageProtection{}
}

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
