package workload

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

// Containers are the columns of the containers in the template of an object.
func Containers() []kind.Column {
	return []kind.Column{
		show.Cell("Containers", "Names of each container in the template.", func(obj kind.Object) string {
			return joined(obj, func(c *corev1.Container) string { return c.Name })
		}),
		show.Cell("Images", "Images referenced by each container in the template.", func(obj kind.Object) string {
			return joined(obj, func(c *corev1.Container) string { return c.Image })
		}),
	}
}

func joined(obj any, text func(*corev1.Container) string) string {
	t := Template(obj)
	if t == nil {
		return ""
	}
	all := make([]string, len(t.Spec.Containers))
	for i := range all {
		all[i] = text(&t.Spec.Containers[i])
	}
	return strings.Join(all, ",")
}

// Columns are those of show.Columns. Those of containers precede the wide ones.
func Columns(own ...kind.Column) []kind.Column {
	var containers []kind.Column
	for _, c := range Containers() {
		containers = append(containers, show.Wide(c))
	}
	return show.Columns(append(containers, own...)...)
}
