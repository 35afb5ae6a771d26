package expression

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	objectTypeName    = "Object"
	jsonPatchTypeName = "JSONPatch"
)

// ObjectType is the result type of apply configurations, Patches that of JSON patches.
var (
	ObjectType = types.NewObjectType(objectTypeName)
	Patches    = types.NewListType(types.NewObjectType(jsonPatchTypeName))
)

func isPatchType(name string) bool {
	return name == jsonPatchTypeName || name == objectTypeName || strings.HasPrefix(name, objectTypeName+".")
}

// patchField returns the type of a field. Objects may have any field with any value: they are validated when
// applied.
func patchField(name, field string) (*types.FieldType, bool) {
	if name != jsonPatchTypeName {
		return &types.FieldType{Type: types.DynType}, true
	}
	switch field {
	case "op", "path", "from":
		return &types.FieldType{Type: types.StringType}, true
	case "value":
		return &types.FieldType{Type: types.DynType}, true
	}
	return &types.FieldType{Type: noField}, true
}

// noField is the type of fields that JSON patches do not have; no value has this type. Error messages show it
// as ”.
var noField = types.NewOpaqueType("")

func newPatchValue(name string, fields map[string]ref.Val) ref.Val {
	v := &patchValue{typ: types.NewObjectType(name), fields: fields}
	if name == jsonPatchTypeName {
		for f := range fields {
			if t, _ := patchField(name, f); t.Type == noField {
				return types.NewErr("no such field: %s", f)
			}
		}
		return v
	}
	for f, value := range fields {
		if err := checkPath(name+"."+f, value); err != nil {
			return types.WrapErr(err)
		}
	}
	return v
}

// checkPath returns an error unless nested objects have the type name of their field path.
func checkPath(place string, v ref.Val) error {
	switch x := v.(type) {
	case *patchValue:
		if got := x.typ.TypeName(); got != place {
			return fmt.Errorf("unexpected type name %q, expected %q, which matches field name path from root Object type", got,
				place)
		}
	case traits.Mapper:
		for it := x.Iterator(); it.HasNext() == types.True; {
			if err := checkPath(place, x.Get(it.Next())); err != nil {
				return err
			}
		}
	case traits.Lister:
		for it := x.Iterator(); it.HasNext() == types.True; {
			if err := checkPath(place, it.Next()); err != nil {
				return err
			}
		}
	}
	return nil
}

// patchValue is an object that an expression constructs.
type patchValue struct {
	typ    *types.Type
	fields map[string]ref.Val
}

var _ traits.Indexer = (*patchValue)(nil)

// ConvertToNative implements ref.Val.
func (v *patchValue) ConvertToNative(t reflect.Type) (any, error) {
	if t == reflect.TypeFor[map[string]any]() {
		return Native(v)
	}
	return nil, fmt.Errorf("type conversion error from %s to %v", v.typ.TypeName(), t)
}

// ConvertToType implements ref.Val.
func (v *patchValue) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.TypeType:
		return v.typ
	case v.typ:
		return v
	}
	return types.NewErr("type conversion error from %q to %q", v.typ.TypeName(), t.TypeName())
}

// Equal implements ref.Val.
func (v *patchValue) Equal(other ref.Val) ref.Val {
	o, ok := other.(*patchValue)
	if !ok || o.typ.TypeName() != v.typ.TypeName() || len(o.fields) != len(v.fields) {
		return types.False
	}
	for name, f := range v.fields {
		g, ok := o.fields[name]
		if !ok || f.Equal(g) != types.True {
			return types.False
		}
	}
	return types.True
}

// Type implements ref.Val.
func (v *patchValue) Type() ref.Type { return v.typ }

// Value implements ref.Val.
func (v *patchValue) Value() any { return v.fields }

// Get implements traits.Indexer.
func (v *patchValue) Get(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field)
	}
	if f, ok := v.fields[string(name)]; ok {
		return f
	}
	return types.NewErr("no such key: %s", name)
}

// IsSet implements traits.FieldTester.
func (v *patchValue) IsSet(field ref.Val) ref.Val {
	name, ok := field.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(field)
	}
	_, found := v.fields[string(name)]
	return types.Bool(found)
}

// Native converts a CEL value to JSON values: maps, lists, int64, float64, strings, booleans and nil.
func Native(v ref.Val) (any, error) {
	switch x := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(x), nil
	case types.Int:
		return int64(x), nil
	case types.Uint:
		if x > math.MaxInt64 {
			return nil, fmt.Errorf("%d is larger than integers of objects", x)
		}
		return int64(x), nil //nolint:gosec // checked above
	case types.Double:
		return float64(x), nil
	case types.String:
		return string(x), nil
	case *types.Optional:
		return nil, errors.New("an optional value has no place here")
	case *patchValue:
		return nativeFields(x.fields)
	case traits.Mapper:
		return nativeMap(x)
	case traits.Lister:
		return nativeList(x)
	}
	if types.IsUnknownOrError(v) {
		return nil, fmt.Errorf("%v", v)
	}
	pb, err := v.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil {
		return nil, err
	}
	return pb.(*structpb.Value).AsInterface(), nil
}

func nativeFields(fields map[string]ref.Val) (any, error) {
	out := make(map[string]any, len(fields))
	for name, f := range fields {
		value, err := Native(f)
		if err != nil {
			return nil, err
		}
		out[name] = value
	}
	return out, nil
}

func nativeMap(m traits.Mapper) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		k := it.Next()
		name, ok := k.(types.String)
		if !ok {
			return nil, fmt.Errorf("unexpected key of type %s in a map", k.Type().TypeName())
		}
		value, err := Native(m.Get(k))
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

func nativeList(l traits.Lister) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := Native(it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}
