package library

import (
	"errors"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

var errNoConversion = errors.New("unsupported native conversion")

func each(list ref.Val, f func(i int, v ref.Val) ref.Val) ref.Val {
	l, ok := list.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(list)
	}
	i := 0
	for it := l.Iterator(); it.HasNext() == types.True; i++ {
		if out := f(i, it.Next()); out != nil {
			return out
		}
	}
	return nil
}

// extreme returns the smallest or the largest item.
func extreme(list ref.Val, sign types.Int, name string) ref.Val {
	var best ref.Val
	if out := each(list, func(_ int, v ref.Val) ref.Val {
		if best == nil {
			best = v
			return nil
		}
		c, ok := best.(traits.Comparer)
		if !ok {
			return types.MaybeNoSuchOverloadErr(best)
		}
		order, ok := c.Compare(v).(types.Int)
		if !ok {
			return types.MaybeNoSuchOverloadErr(v)
		}
		if order == sign {
			best = v
		}
		return nil
	}); out != nil {
		return out
	}
	if best == nil {
		return types.NewErr("%s called on empty list", name)
	}
	return best
}

func isSorted(list ref.Val) ref.Val {
	var last ref.Val
	if out := each(list, func(_ int, v ref.Val) ref.Val {
		if last != nil {
			c, ok := last.(traits.Comparer)
			if !ok {
				return types.MaybeNoSuchOverloadErr(last)
			}
			if c.Compare(v) == types.Int(1) {
				return types.False
			}
		}
		last = v
		return nil
	}); out != nil {
		return out
	}
	return types.True
}

func sum(zero ref.Val) func(list ref.Val) ref.Val {
	return func(list ref.Val) ref.Val {
		total := zero
		if out := each(list, func(_ int, v ref.Val) ref.Val {
			a, ok := total.(traits.Adder)
			if !ok {
				return types.MaybeNoSuchOverloadErr(total)
			}
			total = a.Add(v)
			if types.IsError(total) {
				return total
			}
			return nil
		}); out != nil {
			return out
		}
		return total
	}
}

func lists() []cel.EnvOption {
	var out []cel.EnvOption
	for _, t := range []struct {
		name string
		typ  *types.Type
		zero ref.Val
	}{
		{"int", types.IntType, types.Int(0)}, {"uint", types.UintType, types.Uint(0)},
		{"double", types.DoubleType, types.Double(0)},
		{"bool", types.BoolType, nil}, {"string", types.StringType, nil}, {"bytes", types.BytesType, nil},
		{"duration", types.DurationType, types.Duration{}}, {"timestamp", types.TimestampType, nil},
	} {
		list := types.NewListType(t.typ)
		out = append(out,
			member("isSorted", "list_"+t.name+"_is_sorted_bool", ts{list}, types.BoolType,
				func(a ...ref.Val) ref.Val { return isSorted(a[0]) }),
			member("min", "list_"+t.name+"_min_self", ts{list}, t.typ,
				func(a ...ref.Val) ref.Val { return extreme(a[0], 1, "min") }),
			member("max", "list_"+t.name+"_max_self", ts{list}, t.typ,
				func(a ...ref.Val) ref.Val { return extreme(a[0], -1, "max") }),
		)
		if t.zero != nil {
			add := sum(t.zero)
			out = append(out, member("sum", "list_"+t.name+"_sum_self", ts{list}, t.typ,
				func(a ...ref.Val) ref.Val { return add(a[0]) }))
		}
	}
	item := types.NewTypeParamType("T")
	list := types.NewListType(item)
	return append(out,
		member("indexOf", "list_a_index_of_int", ts{list, item}, types.IntType,
			func(a ...ref.Val) ref.Val { return index(a[0], a[1], true) }),
		member("lastIndexOf", "list_a_last_index_of_int", ts{list, item}, types.IntType,
			func(a ...ref.Val) ref.Val { return index(a[0], a[1], false) }),
	)
}

func index(list, wanted ref.Val, first bool) ref.Val {
	found := types.Int(-1)
	if out := each(list, func(i int, v ref.Val) ref.Val {
		if v.Equal(wanted) == types.True && (found < 0 || !first) {
			found = types.Int(i)
		}
		return nil
	}); out != nil {
		return out
	}
	return found
}
