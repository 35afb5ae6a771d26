package protojson

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"reflect"
	"slices"
	"strconv"

	"triplane.dev/generic/storage/wire"
	"triplane.dev/generic/storage/wire/required"
)

// maxDepth limits the nesting of messages. Deeper ones must be decoded.
const maxDepth = 100

// metadataDepth is the depth of an object's metadata.
const metadataDepth = 2

// writer is the state of a conversion.
type writer struct {
	dst    []byte
	buffer []byte // for results of exact size
	found  []span // of the messages being written, the innermost last
	depth  int
	// comma is set after a member was written.
	comma bool
	// version is the resourceVersion to write; "" after it is written.
	version string
	// failed is set if the message must be decoded.
	failed bool
	// required is what the message that is written next has to hold.
	required *required.Fields
	// quantities has the JSON of messages of quantities, which are few different ones: at most maxQuantities.
	quantities map[string]string
}

// maxQuantities bounds the memory of a writer, with maxQuantity, the length of a message.
const (
	maxQuantities = 256
	maxQuantity   = 32
)

// span is the position of a number's consecutive fields in a message, and the value of the first one.
type span struct {
	start, end int
	value      value
}

// Append appends a message as JSON. head is the beginning of the object: the opening brace and members that are
// not in the message, followed by a comma. version, if not "", replaces the metadata's resourceVersion. nil dst
// allocates the exact size. If ok is false, the message must be decoded, and dst is unchanged.
func (t *Table) Append(dst, head, message []byte, version string) (_ []byte, ok bool) {
	w := t.types.writer(dst, version)
	w.dst, w.required = append(w.dst, head...), t.required
	w.members(t.message, message)
	if !w.comma && len(head) > 1 {
		w.dst = w.dst[:len(w.dst)-1] // the comma of head
	}
	w.dst = append(w.dst, '}')
	return t.types.result(w, dst)
}

// AppendMetadata appends the metadata of the message of an object, which must hold what is required. It is otherwise as
// Append.
func (t *Table) AppendMetadata(dst, message []byte, version string) (_ []byte, ok bool) {
	metadata, ok := wire.OnlyField(message, wire.ObjectMetadata)
	if !ok || t.metadata == nil {
		return dst, false
	}
	w := t.types.writer(dst, version)
	w.depth = metadataDepth - 1
	w.object(t.metadata, metadata.Payload)
	return t.types.result(w, dst)
}

// writer returns a writer that appends to dst.
func (t *Types) writer(dst []byte, version string) *writer {
	w := t.writers.Get().(*writer)
	buffer := w.buffer
	if dst != nil {
		buffer = dst
	}
	*w = writer{dst: buffer, buffer: w.buffer, found: w.found[:0], version: version, quantities: w.quantities}
	return w
}

// result returns what a writer has appended to dst, and the writer to its pool.
func (t *Types) result(w *writer, dst []byte) (_ []byte, ok bool) {
	defer t.writers.Put(w)
	out := w.dst
	if w.dst = nil; dst == nil {
		w.buffer = out[:0]
	}
	switch {
	case w.failed || w.version != "":
		return dst, false
	case dst == nil:
		return slices.Clone(out), true
	}
	return out, true
}

// members writes the fields of a message without braces.
func (w *writer) members(m *message, message []byte) {
	if w.depth++; m.wrong != nil || w.depth > maxDepth {
		w.failed = true
		return
	}
	base, shown, within := len(w.found), m.shown, w.required
	w.found = slices.Grow(w.found, len(m.fields))[:base+len(m.fields)]
	present := w.find(m, message, w.found[base:])
	if w.version != "" && m.version > 0 && w.depth == metadataDepth {
		shown |= 1 << (m.version - 1)
	}
	for rest := present | shown; rest != 0 && !w.failed; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		switch f := &m.fields[i]; {
		case w.version != "" && i == m.version-1 && w.depth == metadataDepth:
			w.name(f)
			w.dst, w.version = appendString(w.dst, []byte(w.version)), ""
		case present&(1<<i) != 0:
			w.required = within.Inner(f.number)
			w.field(f, message, &w.found[base+i])
		default:
			w.required = nil
			w.absent(f)
		}
	}
	w.required = within
	w.found = w.found[:base]
	w.depth--
}

// find records the positions of fields, and returns which there are. It fails for fields that a decoder would merge
// (those of one number that are not consecutive, or of which there must be only one), and if required ones are missing.
func (w *writer) find(m *message, message []byte, found []span) (present uint64) {
	var seen uint64 // the numbers that count
	for i := 0; i < len(message); {
		number, wire, v, end := next(message, i)
		if end == 0 {
			w.failed = true
			return 0
		}
		if number < uint64(len(m.byNumber)) && m.byNumber[number] > 0 {
			place := m.byNumber[number] - 1
			f, s := &m.fields[place], &found[place]
			again := present&(1<<place) != 0
			if f.wire != wire || again && (s.end != i || f.shape != list && f.shape != dictionary) {
				w.failed = true
				return 0
			}
			if !again {
				s.start, s.value, present = i, v, present|1<<place
			}
			s.end = end
			if w.required.Counts(number, v.zero()) {
				seen |= 1 << number
			}
		}
		i = end
	}
	w.failed = w.failed || !w.required.Satisfied(seen)
	return present
}

// field writes a member that is in the message.
func (w *writer) field(f *field, message []byte, s *span) {
	if f.shape == inline {
		w.members(f.of.message, s.value.data)
		return
	}
	undo, comma := len(w.dst), w.comma
	w.name(f)
	var zero bool
	switch f.shape {
	case list:
		w.list(f.of, message[s.start:s.end])
	case dictionary:
		w.dictionary(f.of, message[s.start:s.end])
	default:
		zero = w.element(f.of, s.value)
	}
	if zero && f.omitZero {
		w.dst, w.comma = w.dst[:undo], comma
	}
}

// absent writes a member that is not in the message if JSON does not omit it.
func (w *writer) absent(f *field) {
	switch {
	case f.shape == inline:
		w.members(f.of.message, nil)
	case f.absent != nil:
		w.name(f)
		w.dst = append(w.dst, f.absent...)
	case f.always:
		w.name(f)
		w.object(f.of.message, nil)
	}
}

func (w *writer) name(f *field) {
	if w.comma {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(w.dst, f.name...)
	w.comma = true
}

// object writes a message with braces.
func (w *writer) object(m *message, message []byte) {
	w.dst, w.comma = append(w.dst, '{'), false
	w.members(m, message)
	w.dst, w.comma = append(w.dst, '}'), true
}

// list writes the fields of one number as a list.
func (w *writer) list(e *element, fields []byte) {
	w.dst = append(w.dst, '[')
	for i := 0; i < len(fields) && !w.failed; {
		_, _, v, end := next(fields, i)
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.element(e, v)
		i = end
	}
	w.dst = append(w.dst, ']')
}

// Fields of the entries of maps.
const (
	entryKey   = 1
	entryValue = 2
)

// dictionary writes the entries of a map, which must be sorted, as encoders write them.
func (w *writer) dictionary(e *element, entries []byte) {
	w.dst = append(w.dst, '{')
	var last []byte
	for i := 0; i < len(entries) && !w.failed; {
		_, _, entry, end := next(entries, i)
		key, v, has := w.entry(e, entry.data)
		if i > 0 {
			w.dst = append(w.dst, ',')
			w.failed = w.failed || string(key) <= string(last)
		}
		last = key
		w.dst = append(appendString(w.dst, key), ':')
		if has {
			w.element(e, v)
		} else {
			w.dst = append(w.dst, e.zero...)
		}
		i = end
	}
	w.dst = append(w.dst, '}')
}

func (w *writer) entry(e *element, entry []byte) (key []byte, v value, has bool) {
	for i := 0; i < len(entry); {
		number, t, found, end := next(entry, i)
		switch {
		case end == 0 || number > entryValue || number == entryKey && (t != delimited || i != 0) || has:
			w.failed = true
			return nil, v, false
		case number == entryKey:
			key = found.data
		default:
			v, has = found, true
			w.failed = w.failed || t != e.wire()
		}
		i = end
	}
	return key, v, has
}

// element writes a value. zero is set for the zero value of its type.
func (w *writer) element(e *element, v value) (zero bool) {
	switch {
	case e.message != nil:
		w.object(e.message, v.data)
		return false
	case e.quantity:
		w.quantity(v.data)
		return false
	case e.leaf != nil:
		var ok bool
		w.dst, zero, ok = e.leaf(w.dst, v.data)
		w.failed = w.failed || !ok
		return zero
	}
	switch e.kind {
	case reflect.String:
		w.dst = appendString(w.dst, v.data)
		return len(v.data) == 0
	case reflect.Slice:
		w.dst = base64.StdEncoding.AppendEncode(append(w.dst, '"'), v.data)
		w.dst = append(w.dst, '"')
		return len(v.data) == 0
	case reflect.Bool:
		w.dst = strconv.AppendBool(w.dst, v.number != 0)
	case reflect.Int32:
		w.dst = strconv.AppendInt(w.dst, int64(int32(v.number)), 10)
		return int32(v.number) == 0
	case reflect.Int64:
		w.dst = strconv.AppendInt(w.dst, int64(v.number), 10)
	case reflect.Uint32:
		w.dst = strconv.AppendUint(w.dst, uint64(uint32(v.number)), 10)
	case reflect.Uint64:
		w.dst = strconv.AppendUint(w.dst, v.number, 10)
	case reflect.Float64:
		b, err := json.Marshal(math.Float64frombits(v.number))
		w.dst, w.failed = append(w.dst, b...), w.failed || err != nil
	}
	return v.number == 0
}

// quantity writes the message of a quantity.
func (w *writer) quantity(message []byte) {
	if text, ok := w.quantities[string(message)]; ok {
		w.dst = append(w.dst, text...)
		return
	}
	start := len(w.dst)
	var ok bool
	if w.dst, ok = appendQuantity(w.dst, message); !ok {
		w.failed = true
		return
	}
	if len(message) > maxQuantity {
		return
	}
	if w.quantities == nil || len(w.quantities) == maxQuantities {
		w.quantities = make(map[string]string)
	}
	w.quantities[string(message)] = string(w.dst[start:])
}

// appendString writes a JSON string.
func appendString(dst, text []byte) []byte {
	if mustEscape(text) {
		return wire.AppendString(dst, string(text))
	}
	return append(append(append(dst, '"'), text...), '"')
}

// mustEscape reports whether text has a byte of escaped. It looks at eight bytes at a time.
func mustEscape(text []byte) bool {
	const each, highest = 0x0101010101010101, 0x8080808080808080
	for ; len(text) >= 8; text = text[8:] {
		w := binary.LittleEndian.Uint64(text)
		// The highest bit of a byte is set in w or w+each from 0x7f, and in a difference below what is subtracted. After
		// such a byte the others may be wrong, which does not matter.
		found := w | (w + each) | (w - 0x20*each) |
			((w | 0x04*each) ^ '&'*each - each) | // or '"'
			((w | 0x02*each) ^ '>'*each - each) | // or '<'
			(w ^ '\\'*each - each)
		if found&highest != 0 {
			return true
		}
	}
	for _, c := range text {
		if escaped[c] {
			return true
		}
	}
	return false
}
