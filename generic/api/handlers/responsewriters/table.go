package responsewriters

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
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
	// Errors of encoding are returned before the response begins.
	pooled := itemSlices.Get().(*[][]byte)
	defer func() {
		clear(*pooled)
		*pooled = (*pooled)[:0]
		itemSlices.Put(pooled)
	}()
	for i, item := range list.Items {
		if err := yieldAt(a.Request.Context(), i); err != nil {
			return false, err
		}
		b, ok, err := row(item)
		if !ok || err != nil {
			return false, err
		}
		*pooled = append(*pooled, b)
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
	a.rows(code, head, *pooled, version)
	return true, nil
}

// rows writes the table, in one piece where it is small.
func (a *Response) rows(code int, head []byte, rows [][]byte, version string) {
	size := len(head)
	for _, row := range rows {
		size += len(row)
	}
	switch {
	case size < tableChunk:
		var b bytes.Buffer
		b.Grow(size + size/4)
		writeRows(a.Request.Context(), &b, head, rows, version)
		writeBody(a.Writer, a.Request, code, a.Output, b.Bytes())
		return
	case size > gzipThreshold && negotiation.AcceptsGzip(a.Request):
		a.Writer.Header().Set("Content-Type", negotiation.Name(a.Output.MediaType))
		z := startGzip(a.Writer, code)
		defer stopGzip(z)
		writeRows(a.Request.Context(), z, head, rows, version)
		_, _ = z.Write(newline) // a client that closed the connection needs no response
		return
	}
	a.Writer.Header().Set("Content-Type", negotiation.Name(a.Output.MediaType))
	a.Writer.WriteHeader(code)
	if a.Request.Method == http.MethodHead {
		return
	}
	writeRows(a.Request.Context(), a.Writer, head, rows, version)
	_, _ = a.Writer.Write(newline)
}

// tableChunks are the buffers that rows are put together in.
var tableChunks = sync.Pool{New: func() any { return new([]byte) }}

// tableChunk is how many bytes of rows are written at a time.
const tableChunk = listChunk

func writeRows(ctx context.Context, w io.Writer, head []byte, rows [][]byte, version string) {
	lent := tableChunks.Get().(*[]byte)
	defer tableChunks.Put(lent)
	buf := append((*lent)[:0], head...)
	now := time.Now()
	for i, row := range rows {
		_ = yieldAt(ctx, i) // as in envelope.writeTo
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = wire.Row(row).AppendTo(buf, version, now)
		if len(buf) >= tableChunk {
			if _, err := w.Write(buf); err != nil {
				return
			}
			buf = buf[:0]
		}
	}
	buf = append(buf, "]}"...)
	_, _ = w.Write(buf)
	*lent = buf
}
