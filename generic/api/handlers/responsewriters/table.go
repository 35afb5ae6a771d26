package responsewriters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// storedTable answers with the table of a list whose items are bytes, row by
// row. done is false where that is not possible: the rows carry whole objects,
// or the table is of another storage or for people.
func (a *Response) storedTable(code int, list *rest.StoredList) (done bool, err error) {
	row := a.Scope.Storage.Row
	if len(list.Items) == 0 {
		return false, nil // whether no rows are null or none is the storage's to say
	}
	if row == nil || a.Output.Transform != negotiation.Table || a.Output.MediaType != wire.JSON || a.Output.Pretty {
		return false, nil
	}
	opts, err := a.tableOptions()
	if err != nil || opts.IncludeObject == metav1.IncludeObject {
		return false, err
	}
	pooled := itemSlices.Get().(*[][]byte)
	defer func() {
		clear(*pooled)
		*pooled = (*pooled)[:0]
		itemSlices.Put(pooled)
	}()
	ctx := a.Request.Context()
	size := 0
	for b, err := range a.Scope.rowsOf(ctx, list, 0) {
		if errors.Is(err, errNoRow) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		*pooled = append(*pooled, b)
		if size += len(b); size > gatherLimit {
			break
		}
	}
	empty := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: metav1.GroupName + "/" + a.Output.Version},
		ListMeta: metav1.ListMeta{ResourceVersion: list.ResourceVersion, Continue: list.Continue,
			RemainingItemCount: list.RemainingItemCount},
		Rows: []metav1.TableRow{},
	}
	if !opts.NoHeaders {
		empty.ColumnDefinitions = a.Scope.Storage.RowColumns()
	}
	head, err := json.Marshal(empty)
	if err != nil {
		return false, err
	}
	head, ok := bytes.CutSuffix(head, []byte("]}"))
	if !ok {
		return false, nil
	}
	version := a.Output.Version
	if opts.IncludeObject == metav1.IncludeNone {
		version = ""
	}
	rows := wire.NewRowWriter(version, time.Now())
	e := &envelope{head: head, tail: []byte("]}\n"), separator: comma, items: *pooled,
		render: func(dst, item []byte) []byte { return rows.Append(dst, item) }}
	if n := len(*pooled); n < len(list.Items) {
		e.more = a.Scope.rowsOf(ctx, list, n)
	}
	if size < listChunk { // its length is known if it is rendered at once
		e = &envelope{head: e.bytes()}
	}
	a.stream(code, e)
	return true, nil
}

var errNoRow = errors.New("the row of an object is not a part of its bytes")

// rowsOf encodes the rows of the items behind the first n one by one. It ends with errNoRow if storage has no row of an
// item.
func (s *Scope) rowsOf(ctx context.Context, list *rest.StoredList, n int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		form := rest.Form{Version: s.Kind.GroupVersion(), Row: true}
		kept := make([][]byte, 0, itemBatch)
		for i, item := range list.Items[n:] {
			var err error
			if i%itemBatch == 0 {
				err = yieldNow(ctx)
				kept = list.AppendKept(kept[:0], list.Items[n+i:min(n+i+itemBatch, len(list.Items))], form)
			}
			b, ok := wire.Row(kept[i%itemBatch]), true
			if err == nil && b == nil {
				if err = yieldAt(ctx, i); err == nil {
					b, ok, err = s.Storage.Row(item)
				}
			}
			if !ok && err == nil {
				err = errNoRow
			}
			if !yield(b, err) {
				return
			}
		}
	}
}
