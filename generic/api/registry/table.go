package registry

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/wire"
)

// ConvertToTable is rest.Resource.ConvertToTable, for an object, a typed list, or
// a *rest.StoredList. Rows carry the decoded object.
func (s *Store[T]) ConvertToTable(_ context.Context, object runtime.Object,
	opts *metav1.TableOptions) (*metav1.Table, error) {
	table := &metav1.Table{}
	if opts == nil || !opts.NoHeaders {
		table.ColumnDefinitions = s.kind.TableColumns()
	}
	add := func(obj runtime.Object) error {
		row, err := s.line(obj)
		if err == nil {
			table.Rows = append(table.Rows, row)
		}
		return err
	}
	if list, ok := object.(*rest.StoredList); ok {
		table.ResourceVersion, table.Continue, table.RemainingItemCount = list.ResourceVersion, list.Continue,
			list.RemainingItemCount
		table.Rows = s.rows(len(list.Items))
		for _, item := range list.Items {
			if err := add(item); err != nil {
				return nil, err
			}
		}
		s.sort(table.Rows)
		return table, nil
	}
	if meta.IsListType(object) {
		if m, err := meta.ListAccessor(object); err == nil {
			table.ResourceVersion, table.Continue, table.RemainingItemCount = m.GetResourceVersion(), m.GetContinue(),
				m.GetRemainingItemCount()
		}
		table.Rows = s.rows(0)
		err := meta.EachListItem(object, add)
		s.sort(table.Rows)
		return table, err
	}
	if m, ok := object.(metav1.Object); ok {
		table.ResourceVersion = m.GetResourceVersion()
	} else if st, ok := object.(rest.Stored); ok {
		table.ResourceVersion = st.ResourceVersion()
	}
	return table, add(object)
}

// rows begins a table; an empty one of a kind without declared columns is null.
func (s *Store[T]) rows(n int) []metav1.TableRow {
	if n == 0 && s.kind.Columns == nil {
		return nil
	}
	return make([]metav1.TableRow, 0, n)
}

// sort brings the rows of a list into the order of the kind, where it has one.
func (s *Store[T]) sort(rows []metav1.TableRow) {
	if s.kind.Show.Compare == nil {
		return
	}
	slices.SortStableFunc(rows, func(a, b metav1.TableRow) int {
		return s.kind.Show.Compare(a.Object.Object.(T), b.Object.Object.(T))
	})
}

// line is one object's row.
func (s *Store[T]) line(object runtime.Object) (metav1.TableRow, error) {
	if st, ok := object.(rest.Stored); ok {
		decoded, err := st.Decode()
		if err != nil {
			return metav1.TableRow{}, err
		}
		object = decoded
	}
	obj, ok := object.(T)
	if !ok {
		return metav1.TableRow{}, kind.NotOfKind(object, s.kind.Hub)
	}
	row := metav1.TableRow{Object: runtime.RawExtension{Object: obj}, Cells: s.kind.TableCells(obj, kind.AgeNow)}
	if s.kind.Show.RowConditions != nil {
		row.Conditions = s.kind.Show.RowConditions(obj)
	}
	return row, nil
}

// row is rest.Resource.Row. Rows are kept with the record.
func (s *Store[T]) row(item rest.Stored) (wire.Row, bool, error) {
	o, ok := item.(*stored[T])
	if !ok || o.store != s || s.kind.Show.Compare != nil {
		return nil, false, nil
	}
	row, err := o.form(rowForm, s.encodeRow)
	return row, true, err
}

// KeptRow implements rest.Stored, for kinds with different columns in each version.
func (o *stored[T]) KeptRow(gv schema.GroupVersion, encode func() ([]byte, error)) ([]byte, error) {
	v, err := o.store.version(gv)
	if err != nil {
		return nil, err
	}
	return o.form(rowForm+storage.FormID(v), func(*storage.Record) ([]byte, error) { return encode() })
}

func (s *Store[T]) encodeRow(r *storage.Record) ([]byte, error) {
	obj, err := s.decode(r)
	if err != nil {
		return nil, err
	}
	var ages wire.Ages
	var conditions []metav1.TableRowCondition
	if s.kind.Show.RowConditions != nil {
		conditions = s.kind.Show.RowConditions(obj)
	}
	cells := s.kind.TableCells(obj, ages.Since)
	if metadata, ok := s.form.Metadata(r); ok {
		return wire.EncodeRowOf(cells, conditions, metadata, &ages)
	}
	return wire.EncodeRow(cells, conditions, meta.AsPartialObjectMetadata(obj).ObjectMeta, &ages)
}
