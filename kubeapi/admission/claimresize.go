package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// claimResize rejects expansion of claims that are not bound or whose storage class does not allow it.
//
// Options: none. Metrics: none. Order: any.
type claimResize struct{ stores *group.Stores }

func newClaimResize(d *Dependencies) admission.Interface {
	return &claimResize{stores: d.Stores}
}

// Handles implements admission.Interface.
func (*claimResize) Handles(op admission.Operation) bool { return op == admission.Update }

// Validate implements admission.ValidatingInterface.
func (r *claimResize) Validate(ctx context.Context, a *admission.Attributes) error {
	c, ok := a.Object.(*corev1.PersistentVolumeClaim)
	old, had := a.OldObject.(*corev1.PersistentVolumeClaim)
	if !ok || !had || a.Subresource != "" {
		return nil
	}
	now, before := c.Spec.Resources.Requests[corev1.ResourceStorage],
		old.Spec.Resources.Requests[corev1.ResourceStorage]
	if now.Cmp(before) <= 0 {
		return nil
	}
	if old.Status.Phase != corev1.ClaimBound {
		return admission.Forbiddenf(a, "Only bound persistent volume claims can be expanded")
	}
	name := ""
	if c.Spec.StorageClassName != nil {
		name = *c.Spec.StorageClassName
	}
	if name != "" {
		class, err := group.StorageClasses(r.stores).Get(ctx, "", name)
		if err == nil && class.AllowVolumeExpansion != nil && *class.AllowVolumeExpansion {
			return nil
		}
	}
	return admission.Forbiddenf(a,
		"only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support "+
			"resize")
}
