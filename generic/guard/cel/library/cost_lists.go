package library

import (
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// listCosts has, by overload, the actual costs of the functions of cel-go's extensions "lists" and "sets". The
// extensions give them only to programs of cel-go.
var listCosts = func() map[string]func(args []ref.Val, result ref.Val) uint64 {
	created := func(_ []ref.Val, result ref.Val) uint64 { return listCall(1, sizeOf(result)) }
	flattened := func(args []ref.Val, _ ref.Val) uint64 {
		depth := 1.0
		if len(args) == 2 {
			n, _ := args[1].(types.Int)
			depth = float64(n)
		}
		return listCall(depth, sizeOf(args[0]))
	}
	compared := func(operand int) func(args []ref.Val, result ref.Val) uint64 {
		return func(args []ref.Val, _ ref.Val) uint64 { return selfComparison(args[operand]) }
	}
	sets := func(factor uint64) func(args []ref.Val, result ref.Val) uint64 {
		return func(args []ref.Val, _ ref.Val) uint64 { return 1 + sizeOf(args[0])*sizeOf(args[1])*factor }
	}
	all := map[string]func(args []ref.Val, result ref.Val) uint64{
		"list_slice": created, "lists_range": created, "list_reverse": created,
		"list_flatten": flattened, "list_flatten_int": flattened,
		"list_distinct":             compared(0),
		"list_sets_contains_list":   sets(1),
		"list_sets_intersects_list": sets(1),
		"list_sets_equivalent_list": sets(2),
	}
	for _, t := range []*types.Type{types.IntType, types.UintType, types.DoubleType, types.BoolType,
		types.DurationType, types.TimestampType, types.StringType, types.BytesType} {
		all["list_"+t.TypeName()+"_sort"] = compared(0)
		all["list_"+t.TypeName()+"_sortByAssociatedKeys"] = compared(1)
	}
	return all
}()

// selfComparison is the cost of comparing all items of a list with each other.
func selfComparison(v ref.Val) uint64 {
	list, ok := v.(traits.Lister)
	if !ok {
		return 1
	}
	n, factor := sizeOf(list), 2.0
	if n > 0 {
		if t := list.Get(types.IntZero).Type(); t == types.StringType || t == types.BytesType {
			factor += common.StringTraversalCostFactor
		}
	}
	return listCall(factor, n*n)
}

// listCall is the cost of a call that creates a list.
func listCall(factor float64, size uint64) uint64 {
	return uint64(float64(size)*factor) + 1 + common.ListCreateBaseCost
}
