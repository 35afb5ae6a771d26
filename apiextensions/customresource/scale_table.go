package customresource

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var scaleColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
	{Name: "Desired", Type: "integer", Description: "Number of desired replicas"},
	{Name: "Available", Type: "integer", Description: "Number of actual replicas"},
	{Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
}

// scaleTable shows scales of custom resources as a table.
func scaleTable(_ context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	s, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, fmt.Errorf("%T is no scale", obj)
	}
	t := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: s.ResourceVersion}}
	if opts == nil || !opts.NoHeaders {
		t.ColumnDefinitions = scaleColumns
	}
	var desired any // what JSON leaves out has no cell
	if s.Spec.Replicas != 0 {
		desired = int64(s.Spec.Replicas)
	}
	t.Rows = []metav1.TableRow{{
		Cells:  []any{s.Name, desired, int64(s.Status.Replicas), table.ConvertToHumanReadableDateType(s.CreationTimestamp)},
		Object: runtime.RawExtension{Object: obj},
	}}
	return t, nil
}
