package admission

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/admission"
	"triplane/generic/admission/configuration"
	"triplane/generic/configfile"
	"triplane/kubeapi/group"
	"triplane/kubeapi/quota"
)

// resourceQuota charges the quotas of a namespace for what is created in it, or
// grows, and refuses what exceeds them.
//
// Options: its configuration (apiserver.config.k8s.io/v1, kind ResourceQuotaConfiguration) has
// resources that can be used only where a quota counts them. Metrics: none. Order: last, when
// no other plugin refuses the object.
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
	return &resourceQuota{stores: d.Stores, limited: c.LimitedResources}, err
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
	quotas, err := group.List[*corev1.ResourceQuota](ctx, r.stores, core("resourcequotas"), a.Namespace, cached())
	if err != nil || len(quotas) == 0 && len(r.limited) == 0 {
		return err
	}
	gr := a.Resource.GroupResource()
	matching := quotas[:0]
	for _, q := range quotas {
		if !quota.Matches(q, gr, a.Object) {
			continue
		}
		if err := quota.Demand(q, gr, a.Object); err != nil {
			return forbidden(a, "%w", err)
		}
		matching = append(matching, q)
	}
	if err := quota.Covered(r.limited, gr, a.Object, matching); err != nil {
		return forbidden(a, "%w", err)
	}
	if len(matching) == 0 {
		return nil
	}
	charge, err := quota.Charge(gr, a.Object, before(a))
	if err != nil {
		return forbidden(a, "%w", err)
	}
	if len(charge) == 0 {
		return nil
	}
	return r.spend(ctx, a, matching, charge)
}

// charged reports whether quotas count an operation: new objects, and changes of
// those whose use changes with them.
func charged(a *admission.Attributes) bool {
	gr := a.Resource.GroupResource()
	switch {
	case a.Namespace == "" || a.Object == nil || gr == core("namespaces") || gr.Resource == "events":
		return false
	case a.Operation == admission.Create:
		return a.Subresource == ""
	case gr == core("pods"):
		return a.Subresource == "resize"
	}
	return a.Subresource == "" && (gr == core("services") || gr == core("persistentvolumeclaims"))
}

// before is the object that an update changes; nil where it makes a new one.
func before(a *admission.Attributes) runtime.Object {
	if a.Operation != admission.Update || a.OldObject == nil {
		return nil
	}
	if m, err := meta.Accessor(a.OldObject); err != nil || m.GetResourceVersion() == "" {
		return nil
	}
	return a.OldObject
}

// spend charges all quotas, or none as far as can be foreseen: what was read may
// be old, but what is written is checked again.
func (r *resourceQuota) spend(ctx context.Context, a *admission.Attributes, quotas []*corev1.ResourceQuota, charge corev1.ResourceList) error {
	for _, q := range quotas {
		// Charging none before one refuses; a quota that seems exceeded is asked
		// for its present use.
		if _, err := quota.Spend(q.DeepCopy(), charge); err == nil || len(quotas) == 1 {
			continue
		}
		if err := r.charge(ctx, a, q.Name, charge, true); err != nil {
			return err
		}
	}
	for _, q := range quotas {
		if err := r.charge(ctx, a, q.Name, charge, a.DryRun); err != nil {
			return err
		}
	}
	return nil
}

// charge writes what is used of a quota then. A quota that is gone counts
// nothing.
func (r *resourceQuota) charge(ctx context.Context, a *admission.Attributes, name string, charge corev1.ResourceList, dryRun bool) error {
	var refusal error
	_, err := group.ModifyStatus(ctx, r.stores, core("resourcequotas"), a.Namespace, name, dryRun, func(q *corev1.ResourceQuota) error {
		if _, err := quota.Spend(q, charge); err != nil {
			refusal = forbidden(a, "%w", err)
			return refusal
		}
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
