package workload

import (
	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/show"
)

// ContainerColumns are the wide columns behind which show.Containers has the
// cells.
func ContainerColumns() []kind.Column {
	return []kind.Column{
		show.Wide(show.Text("Containers", "Names of each container in the template.")),
		show.Wide(show.Text("Images", "Images referenced by each container in the template.")),
	}
}

// Columns are the columns of a kind, followed by those of containers and of the
// selector, whose documentation is selectorDoc.
func Columns(selectorDoc string, own ...kind.Column) []kind.Column {
	return append(append(own, ContainerColumns()...), show.Wide(show.Text("Selector", selectorDoc)))
}
