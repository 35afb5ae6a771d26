package workload

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/show"
)

// Containers are the columns of the containers in the template of an object.
func Containers[T kind.Object]() []kind.Column {
	return []kind.Column{
		show.Cell("Containers", "Names of each container in the template.", func(obj T) string {
			return joined(obj, func(c *corev1.Container) string { return c.Name })
		}),
		show.Cell("Images", "Images referenced by each container in the template.", func(obj T) string {
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

// Columns are the columns of the name, of a kind, and of the age, followed by wide ones: of containers, and others.
func Columns[T kind.Object](own []kind.Column, wide ...kind.Column) []kind.Column {
	columns := show.Columns(own...)
	for _, c := range slices.Concat(Containers[T](), wide) {
		columns = append(columns, show.Wide(c))
	}
	return columns
}
