package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/configfile"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/quota"
)

// resourceQuota charges the quotas of a namespace for new and growing objects, and rejects objects that exceed
// them.
//
// Options: its configuration (apiserver.config.k8s.io/v1, kind ResourceQuotaConfiguration) has resources that need
// a quota to be used. Metrics: none. Order: last, when no other plugin rejects the object.
type resourceQuota struct {
	stores  *group.Stores
	limited []quota.Limited
}

func newResourceQuota(d *Dependencies, raw []byte) (admission.Interface, error) {
	const former = "resourcequota.admission.k8s.io"
	var c struct {
		LimitedResources []quota.Limited `json:"limitedResources"`
	}
	err := configuration.Decode(raw, &c,
		schema.GroupVersionKind{Group: configfile.Group, Version: "v1", Kind: "ResourceQuotaConfiguration"},
		schema.GroupVersionKind{Group: former, Version: "v1beta1", Kind: "Configuration"},
		schema.GroupVersionKind{Group: former, Version: "v1alpha1", Kind: "Configuration"})
	if err != nil {
		return nil, err
	}
	for i := range c.LimitedResources {
		if c.LimitedResources[i].Resource == "" {
			return nil, field.Required(field.NewPath("limitedResources").Index(i).Child("resource"), "")
		}
	}
	return &resourceQuota{stores: d.Stores, limited: c.LimitedResources}, nil
}

// Handles implements admission.Interface.
func (*resourceQuota) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update
}

// Validate implements admission.ValidatingInterface.
func (r *resourceQuota) Validate(ctx context.Context, a *admission.Attributes) error {
	if !charged(a) {
		return nil
	}
	quotas, err := group.ResourceQuotas(r.stores).ListCached(ctx, a.Namespace)
	if err != nil || len(quotas) == 0 && len(r.limited) == 0 {
		return err
	}
	gr, old := a.Resource.GroupResource(), before(a)
	var matching []*corev1.ResourceQuota
	var charges []corev1.ResourceList
	for _, q := range quotas {
		if !quota.Matches(q, gr, a.Object) {
			continue
		}
		if err := quota.Demand(q, gr, a.Object); err != nil {
			return admission.Forbiddenf(a, "%w", err)
		}
		charge, err := quota.Charge(q, gr, a.Object, old)
		if err != nil {
			return admission.Forbiddenf(a, "%w", err)
		}
		matching, charges = append(matching, q), append(charges, charge)
	}
	if err := quota.Covered(r.limited, gr, a.Object, matching); err != nil {
		return admission.Forbiddenf(a, "%w", err)
	}
	return r.spend(ctx, a, matching, charges)
}

// charged reports whether quotas apply to an operation: creation, and updates that change usage.
func charged(a *admission.Attributes) bool {
	gr := a.Resource.GroupResource()
	switch {
	case a.Namespace == "" || a.Object == nil || gr == core("namespaces") || gr.Resource == "events":
		return false
	case a.Operation == admission.Create:
		return a.Subresource == ""
	case gr == core("pods"):
		return a.Subresource == "resize" || a.Subresource == "" && getsDeadline(a)
	}
	return a.Subresource == "" && (gr == core("services") || gr == core("persistentvolumeclaims")) || countsOnly(a)
}

// countsOnly reports whether an operation records a completed change, which quotas count but do not reject: a
// claim's status with another VolumeAttributesClass or size.
func countsOnly(a *admission.Attributes) bool {
	return a.Subresource == "status" && a.Resource.GroupResource() == core("persistentvolumeclaims")
}

// getsDeadline reports whether an update moves a pod into the scope Terminating.
func getsDeadline(a *admission.Attributes) bool {
	p, ok := a.Object.(*corev1.Pod)
	old, wasPod := a.OldObject.(*corev1.Pod)
	return ok && wasPod && quota.Terminating(p) && !quota.Terminating(old)
}

// before returns the object that an update changes; nil for a creation.
func before(a *admission.Attributes) runtime.Object {
	if a.Operation != admission.Update || a.OldObject == nil {
		return nil
	}
	if m, err := meta.Accessor(a.OldObject); err != nil || m.GetResourceVersion() == "" {
		return nil
	}
	return a.OldObject
}

// spend charges all quotas, or none as far as it can predict. It predicts from the cache, but each write checks
// current usage.
func (r *resourceQuota) spend(
	ctx context.Context, a *admission.Attributes, quotas []*corev1.ResourceQuota, charges []corev1.ResourceList,
) error {
	for i, q := range quotas {
		// Avoid charging some quotas before another one rejects: check seemingly exceeded quotas against their
		// current usage.
		if len(quotas) == 1 || countsOnly(a) || quota.Exceeded(q, charges[i]) == nil {
			continue
		}
		if err := r.charge(ctx, a, q.Name, charges[i], true); err != nil {
			return err
		}
	}
	for i, q := range quotas {
		if len(charges[i]) == 0 {
			continue
		}
		if err := r.charge(ctx, a, q.Name, charges[i], a.DryRun); err != nil {
			return err
		}
	}
	return nil
}

// charge updates the usage of a quota. It ignores a deleted quota.
func (r *resourceQuota) charge(
	ctx context.Context, a *admission.Attributes, name string, charge corev1.ResourceList, dryRun bool,
) error {
	var refusal error
	write := group.StatusWrite{Namespace: a.Namespace, Name: name, DryRun: dryRun}
	_, err := group.ModifyStatus(ctx, group.ResourceQuotas(r.stores), write,
		func(q *corev1.ResourceQuota) error {
			if err := quota.Exceeded(q, charge); err != nil && !countsOnly(a) {
				refusal = admission.Forbiddenf(a, "%w", err)
				return refusal
			}
			quota.Spend(q, charge)
			return nil
		})
	switch {
	case refusal != nil:
		return refusal
	case apierrors.IsNotFound(err):
		return nil
	}
	return err
}
