package protojson

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/storage/wire"
	"triplane.dev/generic/storage/wire/required"
)

// Types has the tables of Go types. All kinds of a server share it. It is safe for concurrent use.
type Types struct {
	mu      sync.Mutex
	known   map[reflect.Type]*message
	writers sync.Pool
}

// NewTypes returns Types without tables.
func NewTypes() *Types {
	return &Types{known: map[reflect.Type]*message{}, writers: sync.Pool{New: func() any { return &writer{} }}}
}

// message is the table of a struct.
type message struct {
	fields   []field  // in the order of JSON
	byNumber []uint16 // index of a field plus one; 0 for none
	// shown are the indexes, as bits, of fields that JSON may show although the message does not have them.
	shown uint64
	// version is the index of resourceVersion plus one, in ObjectMeta.
	version int
	// wrong is the reason why messages of the type cannot be written.
	wrong error
}

// maxFields is how many fields a struct may have: their indexes are bits of a word.
const maxFields = 64

// field is a field of a struct.
type field struct {
	number uint64 // in protobuf; 0 for none
	name   []byte // with quotes and colon
	shape  shape
	wire   wireType
	// of is the element of a list, the value of a map, or the struct.
	of *element
	// absent is written if the message does not have the field. If it is nil, nothing is written, or an empty
	// message if always is set.
	absent []byte
	always bool
	// omitZero omits empty strings, the number 0, and zero times.
	omitZero bool
}

// shape is the cardinality of a field.
type shape uint8

const (
	single shape = iota
	list
	dictionary
	inline // its fields are members of the outer object
	none   // it has no field in protobuf
)

// element is the type of a field, of the items of a list, or of the values of a map.
type element struct {
	kind    reflect.Kind // of scalars: String, Bool, Int32 ...; Slice for bytes
	message *message     // of structs
	leaf    leaf         // of types with an own JSON encoding
	// quantity is true for resource.Quantity, which has an own JSON encoding as well.
	quantity bool
	zero     []byte // JSON of an absent map value
}

// Table converts the messages of one Go type. It is safe for concurrent use.
type Table struct {
	types    *Types
	message  *message
	metadata *message         // of an object's metadata; nil of other structs
	required *required.Fields // without them, messages must be decoded
}

// Of returns the table of a struct, for messages that hold what is required. It builds missing tables of the struct and
// its fields.
func (t *Types) Of(s reflect.Type, required *required.Fields) *Table {
	t.mu.Lock()
	defer t.mu.Unlock()
	table := &Table{types: t, message: t.message(s), required: required}
	if f, ok := s.FieldByName("ObjectMeta"); ok && f.Type == metadataType {
		if n, err := protobufNumber(f.Tag.Get("protobuf")); err == nil && n == wire.ObjectMetadata {
			table.metadata = t.message(metadataType)
		}
	}
	return table
}

func (t *Types) message(s reflect.Type) *message {
	if m := t.known[s]; m != nil {
		return m
	}
	m := &message{}
	t.known[s] = m // before its fields: types may be recursive
	for i := range s.NumField() {
		if err := t.add(m, s.Field(i)); err != nil {
			m.wrong = fmt.Errorf("%s.%s: %w", s, s.Field(i).Name, err)
			return m
		}
	}
	if s == metadataType {
		m.version = int(m.byNumber[wire.MetaResourceVersion])
	}
	if m.wrong = m.unambiguous(map[string]bool{}); len(m.fields) > maxFields {
		m.wrong = fmt.Errorf("%s has more than %d fields", s, maxFields)
	}
	return m
}

// unambiguous returns an error if a struct and its embedded structs have duplicate names.
func (m *message) unambiguous(names map[string]bool) error {
	for i := range m.fields {
		f := &m.fields[i]
		if f.shape == inline {
			if err := cmp.Or(f.of.message.wrong, f.of.message.unambiguous(names)); err != nil {
				return err
			}
			continue
		}
		if names[string(f.name)] {
			return fmt.Errorf("two fields are %s", f.name)
		}
		names[string(f.name)] = true
	}
	return nil
}

// add adds a field of a struct.
func (t *Types) add(m *message, f reflect.StructField) error {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "-" && options == "" || !f.IsExported() {
		return nil
	}
	if strings.Contains(options, "string") {
		return fmt.Errorf("a number in quotes")
	}
	number, err := protobufNumber(f.Tag.Get("protobuf"))
	if err != nil {
		return err
	}
	if name == "" && f.Anonymous {
		return t.addInline(m, f.Type, number)
	}
	text, err := json.Marshal(cmp.Or(name, f.Name))
	if err != nil {
		return err
	}
	out := field{name: append(text, ':')}
	if err := t.describe(&out, f.Type, number == 0); err != nil {
		return err
	}
	if err := out.leaveOut(f.Type, options); err != nil {
		return err
	}
	m.enter(out, number)
	return nil
}

// addInline adds an embedded struct. One without a field in protobuf must be empty in JSON (TypeMeta).
func (t *Types) addInline(m *message, f reflect.Type, number int) error {
	if f.Kind() != reflect.Struct || writesItself(f) {
		return fmt.Errorf("embeds a %s", f)
	}
	if number > 0 {
		m.enter(field{shape: inline, wire: delimited, of: &element{message: t.message(f)}}, number)
		return nil
	}
	if b, err := json.Marshal(reflect.New(f).Interface()); err != nil || string(b) != "{}" {
		return fmt.Errorf("embeds %s, which is not in protobuf", f)
	}
	return nil
}

func (m *message) enter(f field, number int) {
	if f.absent != nil || f.always || f.shape == inline {
		m.shown |= 1 << len(m.fields)
	}
	f.number = uint64(number)
	m.fields = append(m.fields, f)
	if number == 0 {
		return
	}
	for number >= len(m.byNumber) {
		m.byNumber = append(m.byNumber, 0)
	}
	m.byNumber[number] = uint16(len(m.fields))
}

// describe sets the type of a field.
func (t *Types) describe(out *field, f reflect.Type, outside bool) (err error) {
	if outside {
		out.shape = none
		return nil
	}
	inner := f
	switch {
	case f.Kind() == reflect.Map && !writesItself(f):
		if f.Key().Kind() != reflect.String || writesItself(f.Key()) {
			return fmt.Errorf("a map of %s", f.Key())
		}
		out.shape, inner = dictionary, f.Elem()
	case f.Kind() == reflect.Slice && f.Elem().Kind() != reflect.Uint8 && !writesItself(f) && !readsItself(f):
		out.shape, inner = list, f.Elem()
	}
	if inner.Kind() == reflect.Pointer {
		inner = inner.Elem()
	}
	if out.of, err = t.element(inner); err != nil {
		return err
	}
	if out.wire = delimited; out.shape != dictionary {
		out.wire = out.of.wire()
		return nil
	}
	if out.of.zero == nil {
		out.of.zero, err = json.Marshal(empty(inner).Interface())
	}
	return err
}

// wire returns the wire type of an element. It depends on the Go type, as in generated code, not on the tag.
func (e *element) wire() wireType {
	switch {
	case e.message != nil || e.leaf != nil || e.quantity || e.kind == reflect.String || e.kind == reflect.Slice:
		return delimited
	case e.kind == reflect.Float64:
		return fixed64
	}
	return varint
}

func (t *Types) element(e reflect.Type) (*element, error) {
	switch {
	case e == quantityType:
		return &element{quantity: true}, nil
	case writesItself(e) || e.Kind() != reflect.Struct && readsItself(e):
		l, err := leafOf(e)
		if err != nil {
			return nil, err
		}
		return &element{leaf: l}, nil
	case e.Kind() == reflect.Struct:
		if !readsItself(e) {
			return nil, fmt.Errorf("%s is not in protobuf", e)
		}
		return &element{message: t.message(e)}, nil
	case e.Kind() == reflect.Slice && e.Elem().Kind() == reflect.Uint8:
		return &element{kind: reflect.Slice, zero: []byte(`""`)}, nil
	}
	switch e.Kind() {
	case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64, reflect.Float64:
		return &element{kind: e.Kind()}, nil
	}
	return nil, fmt.Errorf("%s is no type of Kubernetes' protobuf", e)
}

// leaveOut determines when JSON omits a field.
func (f *field) leaveOut(t reflect.Type, options string) (err error) {
	omitEmpty := strings.Contains(options, "omitempty")
	plain := t.Kind() != reflect.Pointer && t.Kind() != reflect.Struct
	if omitEmpty && t.Kind() == reflect.Array {
		return fmt.Errorf("an array")
	}
	f.omitZero = omitEmpty && plain
	if strings.Contains(options, "omitzero") {
		if !plain && t.Kind() != reflect.Pointer && t != timeType {
			return fmt.Errorf("omitzero of a %s", t)
		}
		omitEmpty = true
		f.omitZero = f.omitZero || t.Kind() != reflect.Pointer
	}
	if omitEmpty && (t.Kind() != reflect.Struct || f.omitZero) {
		return nil
	}
	if f.always = f.shape == single && f.of.message != nil && t.Kind() == reflect.Struct; f.always {
		return nil
	}
	f.absent, err = json.Marshal(reflect.New(t).Interface())
	return err
}

// protobufNumber parses the number of a field. It is 0 if the field is not in protobuf.
func protobufNumber(tag string) (int, error) {
	if tag == "" {
		return 0, nil
	}
	parts := strings.Split(tag, ",")
	if len(parts) > 1 {
		if n, err := strconv.Atoi(parts[1]); err == nil && n > 0 && n < 1<<10 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("tag %q", tag)
}

var (
	metadataType  = reflect.TypeFor[metav1.ObjectMeta]()
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// unmarshaler is implemented by types with a protobuf message.
type unmarshaler interface{ Unmarshal(data []byte) error }

// readsItself reports whether a type has a protobuf message.
func readsItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[unmarshaler]())
}

// writesItself reports whether a type has an own JSON encoding.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonMarshaler) || p.Implements(textMarshaler)
}
