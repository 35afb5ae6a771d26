package endpoints

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// defaultTable shows the name and the age of objects whose resource declares no
// columns.
func defaultTable(_ context.Context, obj runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	var table metav1.Table
	row := func(o runtime.Object) error {
		m, err := meta.Accessor(o)
		if err != nil {
			return err
		}
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)},
			Object: runtime.RawExtension{Object: o},
		})
		return nil
	}
	var err error
	if meta.IsListType(obj) {
		if l, lerr := meta.ListAccessor(obj); lerr == nil {
			table.ResourceVersion, table.Continue, table.RemainingItemCount = l.GetResourceVersion(), l.GetContinue(),
				l.GetRemainingItemCount()
		}
		err = meta.EachListItem(obj, row)
	} else {
		if m, merr := meta.CommonAccessor(obj); merr == nil {
			table.ResourceVersion = m.GetResourceVersion()
		}
		err = row(obj)
	}
	if opts == nil || !opts.NoHeaders {
		docs := metav1.ObjectMeta{}.SwaggerDoc()
		table.ColumnDefinitions = []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: docs["name"]},
			{Name: "Created At", Type: "date", Description: docs["creationTimestamp"]},
		}
	}
	return &table, err
}
