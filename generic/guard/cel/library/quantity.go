package library

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"

	"triplane.dev/internal/quantity"
)

// QuantityType is the CEL type of quantities.
var QuantityType = types.NewOpaqueType("kubernetes.Quantity")

func newQuantity(q resource.Quantity) ref.Val {
	return opaque[resource.Quantity]{QuantityType, q, func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 }}
}

// operand returns the quantity of a value, which may be an integer.
func operand(v ref.Val) resource.Quantity {
	if n, ok := v.(types.Int); ok {
		return *resource.NewQuantity(int64(n), resource.DecimalSI)
	}
	return v.(opaque[resource.Quantity]).v.DeepCopy()
}

func quantities() []cel.EnvOption {
	q := QuantityType
	compare := func(name string, is func(int) ref.Val, result *types.Type) cel.EnvOption {
		return member(name, "quantity_"+name, ts{q, q}, result, func(a ...ref.Val) ref.Val {
			x, y := operand(a[0]), operand(a[1])
			return is(x.Cmp(y))
		})
	}
	arithmetic := func(name, id string, other *types.Type, f func(x *resource.Quantity,
		y resource.Quantity)) cel.EnvOption {
		return member(name, id, ts{q, other}, q, func(a ...ref.Val) ref.Val {
			x := operand(a[0])
			f(&x, operand(a[1]))
			return newQuantity(x)
		})
	}
	add := func(x *resource.Quantity, y resource.Quantity) { x.Add(y) }
	sub := func(x *resource.Quantity, y resource.Quantity) { x.Sub(y) }
	return []cel.EnvOption{
		global("quantity", "string_to_quantity", ts{str}, q, func(a ...ref.Val) ref.Val {
			parsed, err := quantity.Parse(text(a[0]))
			if err != nil {
				return types.WrapErr(err)
			}
			return newQuantity(parsed)
		}),
		global("isQuantity", "is_quantity_string", ts{str}, types.BoolType, func(a ...ref.Val) ref.Val {
			_, err := quantity.Parse(text(a[0]))
			return types.Bool(err == nil)
		}),
		global("sign", "quantity_sign", ts{q}, types.IntType, func(a ...ref.Val) ref.Val {
			x := operand(a[0])
			return types.Int(x.Sign())
		}),
		compare("isGreaterThan", func(c int) ref.Val { return types.Bool(c > 0) }, types.BoolType),
		compare("isLessThan", func(c int) ref.Val { return types.Bool(c < 0) }, types.BoolType),
		compare("compareTo", func(c int) ref.Val { return types.Int(c) }, types.IntType),
		member("asApproximateFloat", "quantity_get_float", ts{q}, types.DoubleType, func(a ...ref.Val) ref.Val {
			x := operand(a[0])
			return types.Double(x.AsApproximateFloat64())
		}),
		member("asInteger", "quantity_get_int", ts{q}, types.IntType, func(a ...ref.Val) ref.Val {
			x := operand(a[0])
			if n, ok := x.AsInt64(); ok {
				return types.Int(n)
			}
			return types.NewErr("cannot convert value to integer")
		}),
		member("isInteger", "quantity_is_integer", ts{q}, types.BoolType, func(a ...ref.Val) ref.Val {
			x := operand(a[0])
			_, ok := x.AsInt64()
			return types.Bool(ok)
		}),
		arithmetic("add", "quantity_add", q, add), arithmetic("add", "quantity_add_int", types.IntType, add),
		arithmetic("sub", "quantity_sub", q, sub), arithmetic("sub", "quantity_sub_int", types.IntType, sub),
	}
}
