package cel

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// value is JSON as CEL sees it.
func (n *node) value(v any) ref.Val {
	if v == nil {
		return types.NullValue
	}
	switch x := v.(type) {
	case map[string]any:
		if n.elem != nil {
			entries := make(map[ref.Val]ref.Val, len(x))
			for k, e := range x {
				entries[types.String(k)] = n.elem.value(e)
			}
			return types.NewRefValMap(types.DefaultTypeAdapter, entries)
		}
		return &objectVal{node: n, fields: x}
	case []any:
		if n.elem == nil {
			return n.unexpected(v)
		}
		items := make([]ref.Val, len(x))
		for i, e := range x {
			items[i] = n.elem.value(e)
		}
		list := types.NewRefValList(types.DefaultTypeAdapter, items)
		if n.schema.ListType == "set" || n.schema.ListType == "map" {
			return &unorderedList{Lister: list, node: n, items: items}
		}
		return list
	case string:
		return textValue(x, n.schema.Type, n.schema.Format)
	case int64:
		if n.schema.Type == "number" {
			return types.Double(x)
		}
		return types.Int(x)
	case float64:
		if n.schema.Type == "integer" || n.schema.IntOrString {
			return n.unexpected(v)
		}
		return types.Double(x)
	case bool:
		return types.Bool(x)
	}
	return n.unexpected(v)
}

// unexpected is the error of a value that the schema allows, and that has no form
// of the schema's type in CEL: an integer that was written as 2.0, a list where a
// text of a format is expected.
func (n *node) unexpected(v any) ref.Val {
	if n.schema.IntOrString {
		return types.NewErr("invalid data, expected XIntOrString value to be either a string or integer")
	}
	expected := n.schema.Type
	if expected == "integer" {
		expected = "int"
	}
	return types.NewErr("invalid data, expected %s, got %T", expected, v)
}

func textValue(s, typ, format string) ref.Val {
	if typ != "string" {
		return types.String(s)
	}
	switch format {
	case "byte":
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return types.NewErr("invalid base64 value: %v", err)
		}
		return types.Bytes(b)
	case "duration":
		d, err := strfmt.ParseDuration(s)
		if err != nil {
			return types.NewErr("Invalid duration %s: %v", s, err)
		}
		return types.Duration{Duration: d}
	case "date":
		t, err := time.Parse(strfmt.RFC3339FullDate, s)
		if err != nil {
			return types.NewErr("Invalid date formatted string %s: %v", s, err)
		}
		return types.Timestamp{Time: t}
	case "date-time":
		t, err := strfmt.ParseDateTime(s)
		if err != nil {
			return types.NewErr("Invalid date-time formatted string %s: %v", s, err)
		}
		return types.Timestamp{Time: time.Time(t)}
	}
	return types.String(s)
}

// objectVal is an object with named fields.
type objectVal struct {
	node   *node
	fields map[string]any
}

var (
	_ traits.Mapper      = (*objectVal)(nil)
	_ traits.FieldTester = (*objectVal)(nil)
)

func (o *objectVal) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("type conversion error from %s to %v", o.node.typ.TypeName(), t)
}

func (o *objectVal) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case o.node.typ, types.MapType:
		return o
	case types.TypeType:
		return types.MapType
	}
	return types.NewErr("type conversion error from %q to %q", o.node.typ.TypeName(), t)
}

// Equal compares the fields as CEL sees them, so that order does not count in sets below.
func (o *objectVal) Equal(other ref.Val) ref.Val {
	p, ok := other.(*objectVal)
	if !ok {
		if m, ok := other.(traits.Mapper); ok {
			return o.equalMap(m)
		}
		return types.False
	}
	if len(o.fields) != len(p.fields) {
		return types.False
	}
	for name, v := range o.fields {
		w, found := p.fields[name]
		if !found {
			return types.False
		}
		if same := o.sameField(p, name, v, w); same != types.True {
			return same
		}
	}
	return types.True
}

func (o *objectVal) equalMap(m traits.Mapper) ref.Val {
	if m.Size() != o.Size() {
		return types.False
	}
	for it := o.Iterator(); it.HasNext() == types.True; {
		name := it.Next()
		w, found := m.Find(name)
		if !found {
			return types.False
		}
		if same := o.Get(name).Equal(w); same != types.True {
			return same
		}
	}
	return types.True
}

func (o *objectVal) sameField(p *objectVal, name string, v, w any) ref.Val {
	mine, theirs := o.node.field(name), p.node.field(name)
	if mine == nil || theirs == nil {
		return types.Bool(reflect.DeepEqual(v, w)) // what rules cannot see
	}
	a, b := mine.value(v), theirs.value(w)
	if types.IsError(a) {
		return a
	}
	if types.IsError(b) {
		return b
	}
	return a.Equal(b)
}

// Type implements ref.Val: whoever asks sees a map.
func (o *objectVal) Type() ref.Type { return types.MapType }

func (o *objectVal) Value() any { return o.fields }

func (o *objectVal) Get(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field)
	}
	f, ok := o.node.fields[string(name)]
	if !ok {
		return types.NewErr("no such field '%s'", name)
	}
	v, found := o.fields[f.name]
	if !found {
		return types.NewErr("no such key: %v", name)
	}
	return f.node.value(v)
}

// Find implements traits.Mapper, as which an object is seen where its type is not known. A value
// that cannot be read is an error that is not found.
func (o *objectVal) Find(key ref.Val) (ref.Val, bool) {
	if set := o.IsSet(key); set != types.True {
		if types.IsError(set) {
			return set, false
		}
		return nil, false
	}
	return o.Get(key), true
}

// Contains implements traits.Mapper.
func (o *objectVal) Contains(key ref.Val) ref.Val { return o.IsSet(key) }

// Size implements traits.Mapper.
func (o *objectVal) Size() ref.Val { return types.Int(len(o.fields)) }

// Iterator implements traits.Mapper: over the names of the fields that rules see.
func (o *objectVal) Iterator() traits.Iterator {
	names := make([]string, 0, len(o.fields))
	for name, f := range o.node.fields {
		if _, set := o.fields[f.name]; set {
			names = append(names, name)
		}
	}
	return types.NewStringList(types.DefaultTypeAdapter, names).Iterator()
}

func (o *objectVal) IsSet(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field)
	}
	f, ok := o.node.fields[string(name)]
	if !ok {
		return types.False
	}
	v, found := o.fields[f.name]
	if !found {
		return types.False
	}
	if read := f.node.value(v); types.IsError(read) {
		return read
	}
	return types.True
}

// unorderedList is a list that is a set or a map: order does not count when it is
// compared, and what is added replaces what has the same identity.
type unorderedList struct {
	traits.Lister
	node  *node
	items []ref.Val
}

func (l *unorderedList) identity(v ref.Val) string {
	if o, ok := v.(*objectVal); ok && l.node.schema.ListType == "map" {
		key := ""
		for _, k := range l.node.schema.ListMapKeys {
			key += fmt.Sprintf("%T%v\x00", o.fields[k], o.fields[k])
		}
		return key
	}
	return fmt.Sprintf("%v%v", v.Type(), v.Value())
}

func (l *unorderedList) Equal(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.False
	}
	if size, ok := o.Size().(types.Int); !ok || int(size) != len(l.items) {
		return types.False
	}
	index := make(map[string]ref.Val, len(l.items))
	for _, v := range l.items {
		index[l.identity(v)] = v
	}
	for i := range l.items {
		v := o.Get(types.Int(i))
		mine, ok := index[l.identity(v)]
		if !ok || mine.Equal(v) != types.True {
			return types.False
		}
	}
	return types.True
}

func (l *unorderedList) Add(other ref.Val) ref.Val {
	o, ok := other.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(other)
	}
	items := append([]ref.Val(nil), l.items...)
	index := make(map[string]int, len(items))
	for i, v := range items {
		index[l.identity(v)] = i
	}
	for it := o.Iterator(); it.HasNext() == types.True; {
		v := it.Next()
		if i, found := index[l.identity(v)]; found {
			items[i] = v
			continue
		}
		index[l.identity(v)] = len(items)
		items = append(items, v)
	}
	return &unorderedList{Lister: types.NewRefValList(types.DefaultTypeAdapter, items), node: l.node, items: items}
}
