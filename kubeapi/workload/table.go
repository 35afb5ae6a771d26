package workload

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/generic/api/registry"
	"triplane/kubeapi/show"
)

// ContainerColumns are the wide columns behind which show.Containers has the
// cells.
func ContainerColumns() []registry.Column {
	return []registry.Column{
		show.Wide(show.Text("Containers", "Names of each container in the template.")),
		show.Wide(show.Text("Images", "Images referenced by each container in the template.")),
	}
}

// Columns are the columns of a kind, followed by those of containers and of the
// selector, whose documentation is selectorDoc.
func Columns(selectorDoc string, own ...registry.Column) []registry.Column {
	return append(append(own, ContainerColumns()...), show.Wide(show.Text("Selector", selectorDoc)))
}

// ScaleSelector returns a selector as a Scale shows it.
func ScaleSelector(s *metav1.LabelSelector) (string, error) {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return "", apierrors.NewBadRequest(err.Error())
	}
	return selector.String(), nil
}
