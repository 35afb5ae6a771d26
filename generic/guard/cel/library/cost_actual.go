package library

import (
	"math"

	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// ActualCosts computes the cost of evaluated calls. It implements interpreter.ActualCostEstimator.
type ActualCosts struct{}

var _ interpreter.ActualCostEstimator = ActualCosts{}

// CallCost returns nil for functions whose cost cel-go computes. The overload is empty if it was selected at
// run time; functions with several such overloads are therefore looked up by name.
func (ActualCosts) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	if c := actualCosts[function]; c != nil {
		total := c(overload, args, result)
		return &total
	}
	c := costs[overload]
	if c == nil {
		return nil
	}
	operands := make([]operandSize, len(args))
	for i, a := range args {
		operands[i] = operandSize{SizeEstimate: checker.FixedSizeEstimate(sizeOf(a))}
	}
	most := c(operands).Max
	return &most
}

// actualCost is the cost of a completed call.
type actualCost func(overload string, args []ref.Val, result ref.Val) uint64

// actualCosts has, by function, the costs that depend on more than the sizes of the operands.
var actualCosts = map[string]actualCost{
	"isSorted": traversesItems, "sum": traversesItems, "min": traversesItems, "max": traversesItems,
	"indexOf": traversesItems, "lastIndexOf": traversesItems,
	"join": func(_ string, _ []ref.Val, result ref.Val) uint64 {
		return uint64(math.Ceil(float64(sizeOf(result)) * 2 * common.StringTraversalCostFactor))
	},
	"validate": func(_ string, args []ref.Val, _ ref.Val) uint64 {
		f, ok := args[0].(opaque[format])
		if !ok {
			return 1
		}
		text := checker.FixedSizeEstimate(1 + sizeOf(args[1]))
		return pattern(text, checker.FixedSizeEstimate(f.v.pattern)).Max
	},
	"containsIP":   parsesOperand("cidr_contains_ip_string", 1),
	"containsCIDR": parsesOperand("cidr_contains_cidr_string", 3),
}

// traversesItems is the cost of reading all items of the first operand.
func traversesItems(_ string, args []ref.Val, _ ref.Val) uint64 { return contents(args[0]) }

// parsesOperand returns the cost of comparing addresses, if the second operand is a string in the overload
// text.
func parsesOperand(text string, compare uint64) actualCost {
	return func(overload string, args []ref.Val, _ ref.Val) uint64 {
		if overload != text {
			return compare
		}
		return compare + traversal(checker.FixedSizeEstimate(sizeOf(args[1]))).Max
	}
}

// contents is the cost of reading a value: for a string the traversal of its bytes, for lists and maps the sum
// for their keys and values, for other values 1.
func contents(v ref.Val) (total uint64) {
	switch x := v.(type) {
	case types.String:
		return uint64(float64(len(x)) * common.StringTraversalCostFactor)
	case types.Bytes:
		return uint64(float64(len(x)) * common.StringTraversalCostFactor)
	case traits.Lister:
		for it := x.Iterator(); it.HasNext() == types.True; {
			total += contents(it.Next())
		}
		return total
	case traits.Mapper:
		for it := x.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			total += contents(key) + contents(x.Get(key))
		}
		return total
	}
	return 1
}

func sizeOf(v ref.Val) uint64 {
	if z, ok := v.(traits.Sizer); ok {
		if n, ok := z.Size().(types.Int); ok && n >= 0 {
			return uint64(n)
		}
	}
	return 1
}
