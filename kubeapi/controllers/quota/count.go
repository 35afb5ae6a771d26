package quota

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/quota"
)

// count returns the usage of a quota by the objects of its namespace.
func (c *controller) count(ctx context.Context, given *corev1.ResourceQuota) (corev1.ResourceList, error) {
	q := given.DeepCopy()
	q.Status.Hard = q.Spec.Hard // the new limits
	used := corev1.ResourceList{}
	for _, r := range c.env.Resources.All() {
		gr := r.GroupResource()
		names := countedNames(q, gr)
		if !r.Namespaced || len(names) == 0 {
			continue
		}
		for _, name := range names {
			used[name] = *resource.NewQuantity(0, resource.DecimalSI)
		}
		if err := c.add(ctx, used, q, &r, names); err != nil {
			return nil, err
		}
	}
	return used, nil
}

// countedNames returns the resources of a quota that objects of gr use.
func countedNames(q *corev1.ResourceQuota, gr schema.GroupResource) []corev1.ResourceName {
	var names []corev1.ResourceName
	for name := range q.Spec.Hard {
		if quota.Counts(gr, name) {
			names = append(names, name)
		}
	}
	return names
}

// add adds the usage of the objects of a resource.
func (c *controller) add(
	ctx context.Context, used corev1.ResourceList, q *corev1.ResourceQuota, r *control.Resource,
	names []corev1.ResourceName,
) error {
	switch r.GroupResource() {
	case group.Pods(c.env.Stores).Resource():
		return addUsage(ctx, group.Pods(c.env.Stores), used, q, names)
	case group.Services(c.env.Stores).Resource():
		return addUsage(ctx, group.Services(c.env.Stores), used, q, names)
	case group.PersistentVolumeClaims(c.env.Stores).Resource():
		return addUsage(ctx, group.PersistentVolumeClaims(c.env.Stores), used, q, names)
	}
	if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
		return nil // no other resources have scopes
	}
	n, err := c.number(ctx, q.Namespace, r)
	for _, name := range names {
		used[name] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	return err
}

// number returns the number of objects of a resource in a namespace.
func (c *controller) number(ctx context.Context, namespace string, r *control.Resource) (int64, error) {
	if !r.External {
		return c.env.Resources.Count(ctx, r.GroupResource(), namespace)
	}
	list, err := c.metadata.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	return int64(len(list.Items)), nil
}

// addUsage adds the usage of single objects.
func addUsage[T interface {
	kind.Object
	runtime.Object
}](ctx context.Context, of group.Handle[T], used corev1.ResourceList, q *corev1.ResourceQuota,
	names []corev1.ResourceName) error {
	gr := of.Resource()
	objects, err := of.ListCached(control.Reading(ctx), q.Namespace)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if !quota.Matches(q, gr, o) {
			continue
		}
		usage := quota.Usage(gr, o)
		for _, name := range names {
			if amount, ok := usage[name]; ok {
				sum := used[name]
				sum.Add(amount)
				used[name] = sum
			}
		}
	}
	return nil
}
