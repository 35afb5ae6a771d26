package wire

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// Row is an encoded table row: JSON with gaps for ages, which are inserted when it is written. It is immutable.
//
// It has the number of ages; for each of them its offset in the cells and its time in Unix seconds; the length
// of the cells; the cells (and conditions); and the metadata of the object.
type Row []byte

// Ages collects the times whose age a row shows.
type Ages struct{ times []time.Time }

// maxAges exceeds the number of ages of every kind.
const maxAges = 10

// Since returns a placeholder for the age of t in the text of a cell. It may be a part of that text.
func (a *Ages) Since(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	if len(a.times) == maxAges {
		return duration.HumanDuration(time.Since(t.Time))
	}
	a.times = append(a.times, t.Time)
	return "\x00" + string(rune('0'+len(a.times)-1)) + "\x00"
}

// hole is the position of an age.
type hole struct {
	offset int
	at     time.Time
}

// EncodeRow encodes a row. The texts of cells may contain placeholders of ages.
func EncodeRow(cells []any, conditions []metav1.TableRowCondition, metadata metav1.ObjectMeta, ages *Ages) (Row,
	error) {
	meta, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	return EncodeRowOf(cells, conditions, meta, ages)
}

// EncodeRowOf is EncodeRow with metadata that is already encoded as JSON.
func EncodeRowOf(cells []any, conditions []metav1.TableRowCondition, meta []byte, ages *Ages) (Row, error) {
	var holes []hole
	text := append(make([]byte, 0, 256), `{"cells":[`...)
	for i, cell := range cells {
		if i > 0 {
			text = append(text, ',')
		}
		var err error
		if s, ok := cell.(string); ok {
			text, holes = ages.appendText(text, holes, s)
		} else if text, err = appendValue(text, cell); err != nil {
			return nil, err
		}
	}
	text = append(text, ']')
	if len(conditions) > 0 {
		var err error
		if text, err = appendValue(append(text, `,"conditions":`...), conditions); err != nil {
			return nil, err
		}
	}
	text = append(text, `,"object":`...)
	row := make([]byte, 0, 4+len(holes)*12+len(text)+len(meta))
	row = binary.AppendUvarint(row, uint64(len(holes)))
	for _, h := range holes {
		row = binary.AppendUvarint(row, uint64(h.offset))
		row = binary.AppendVarint(row, h.at.Unix())
	}
	row = binary.AppendUvarint(row, uint64(len(text)))
	return append(append(row, text...), meta...), nil
}

// appendText appends a JSON string and collects the positions of ages.
func (a *Ages) appendText(dst []byte, holes []hole, s string) ([]byte, []hole) {
	dst = append(dst, '"')
	for {
		i := strings.IndexByte(s, 0)
		if i < 0 || i+2 >= len(s) {
			break
		}
		n := int(s[i+1]) - '0'
		if s[i+2] != 0 || n < 0 || n >= len(a.times) || len(holes) == maxAges {
			dst = appendInner(dst, s[:i+1])
			s = s[i+1:]
			continue
		}
		dst = appendInner(dst, s[:i])
		holes = append(holes, hole{len(dst), a.times[n]})
		s = s[i+3:]
	}
	return append(appendInner(dst, s), '"'), holes
}

func appendValue(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

// RowWriter writes rows as JSON, with the ages at one time. It must not be used concurrently.
type RowWriter struct {
	// version is that of meta.k8s.io in which rows have PartialObjectMetadata, "" if they have no object.
	version string
	now     time.Time
	// last has the latest age at each position: consecutive rows often have the same.
	last [maxAges]age
}

// age is the time since a number of Unix seconds, as a part of a JSON string.
type age struct {
	seconds int64
	text    []byte
}

// NewRowWriter returns a RowWriter. The object of rows is PartialObjectMetadata of meta.k8s.io in the version, or null
// if version is "".
func NewRowWriter(version string, now time.Time) *RowWriter {
	return &RowWriter{version: version, now: now}
}

// Append appends a row.
func (w *RowWriter) Append(dst []byte, row Row) []byte {
	b := []byte(row)
	uvarint := func() int {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return int(v)
	}
	var offsets [maxAges]int
	count := uvarint()
	for i := range count {
		offsets[i] = uvarint()
		seconds, n := binary.Varint(b)
		b = b[n:]
		if a := &w.last[i]; len(a.text) == 0 || a.seconds != seconds {
			since := duration.HumanDuration(w.now.Sub(time.Unix(seconds, 0)))
			a.seconds, a.text = seconds, appendInner(a.text[:0], since)
		}
	}
	size := uvarint()
	text, meta := b[:size], b[size:]
	from := 0
	for i, offset := range offsets[:count] {
		dst = append(append(dst, text[from:offset]...), w.last[i].text...)
		from = offset
	}
	dst = append(dst, text[from:]...)
	if w.version == "" {
		return append(dst, "null}"...)
	}
	dst = append(append(dst, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/`...), w.version...)
	return append(append(append(dst, `","metadata":`...), meta...), "}}"...)
}
