package library

import (
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

const (
	// authorizationCost is the cost of one call of the authorizer.
	authorizationCost = 350000
	// formatPattern is the assumed pattern length of a format that is only known at run time.
	formatPattern = 128
	// formatName is the length of the longest format name.
	formatName = 63
	// addressBytes is the size of the largest address.
	addressBytes = 16
)

// Sizes estimates the sizes of values. It returns nil if a size is unknown.
type Sizes func(checker.AstNode) *checker.SizeEstimate

var _ checker.CostEstimator = Sizes(nil)

// EstimateSize implements checker.CostEstimator.
func (s Sizes) EstimateSize(n checker.AstNode) *checker.SizeEstimate { return s(n) }

// EstimateCallCost implements checker.CostEstimator. It returns nil for functions whose cost cel-go estimates.
func (s Sizes) EstimateCallCost(name, overload string, target *checker.AstNode,
	args []checker.AstNode) *checker.CallEstimate {
	c := costs[overload]
	nodes := args
	if target != nil {
		nodes = append([]checker.AstNode{*target}, args...)
	}
	if name == "_==_" && len(nodes) == 2 && opaqueKind(nodes[0].Type()) && opaqueKind(nodes[1].Type()) {
		c = equality(nodes[0].Type())
	}
	if c == nil {
		return nil
	}
	operands := make([]operandSize, len(nodes))
	for i, n := range nodes {
		operands[i] = s.operand(n)
	}
	return c(operands)
}

func opaqueKind(t *types.Type) bool {
	return t != nil && t.Kind() == types.OpaqueKind && t.TypeName() != "optional_type"
}

// operand estimates the size of a value and, for a list, of its items.
func (s Sizes) operand(n checker.AstNode) operandSize {
	o := operandSize{SizeEstimate: s.sizeOf(n), limit: literal(n)}
	if t := n.Type(); t != nil && t.Kind() == types.ListKind && len(t.Parameters()) == 1 {
		item := itemNode{t: t.Parameters()[0]}
		if p := n.Path(); p != nil {
			item.path = append(append([]string(nil), p...), "@items")
		}
		o.list, o.texts = true, isText(item.t)
		if o.texts {
			o.item = s.sizeOf(item)
		}
	}
	return o
}

func isText(t ref.Type) bool { return t == types.StringType || t == types.BytesType }

func (s Sizes) sizeOf(n checker.AstNode) checker.SizeEstimate {
	if z := n.ComputedSize(); z != nil {
		return *z
	}
	if z := s(n); z != nil {
		return *z
	}
	return checker.UnknownSizeEstimate()
}

// operandSize is the size of an operand. In estimates it is a range; in evaluations it is exact and has no
// items.
type operandSize struct {
	checker.SizeEstimate
	list  bool
	texts bool                 // a list of strings or bytes
	item  checker.SizeEstimate // of the texts
	limit *uint64              // the value of a number literal
}

// cost computes the cost of a call and the size of its result from the operands. The receiver is the first
// operand.
type cost func(o []operandSize) *checker.CallEstimate

func literal(n checker.AstNode) *uint64 {
	if n.Expr() == nil {
		return nil
	}
	i, ok := n.Expr().AsLiteral().(types.Int)
	if !ok || i < 0 {
		return nil
	}
	u := uint64(i)
	return &u
}

// itemNode is the checker node of a list's item, for which there is no expression.
type itemNode struct {
	path []string
	t    *types.Type
}

func (n itemNode) Path() []string                    { return n.path }
func (n itemNode) Type() *types.Type                 { return n.t }
func (itemNode) Expr() ast.Expr                      { return nil }
func (itemNode) ComputedSize() *checker.SizeEstimate { return nil }

func traversal(s checker.SizeEstimate) checker.CostEstimate {
	return s.MultiplyByCostFactor(common.StringTraversalCostFactor)
}
