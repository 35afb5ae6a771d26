package cel

import (
	"fmt"
	"math"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/schema"
	"triplane.dev/generic/guard/cel/library"
)

const (
	// ruleLimit and schemaLimit bound the estimated cost of one rule, evaluated
	// as often as an object can make it be, and of all rules of a schema.
	ruleLimit   = 10000000
	schemaLimit = 100000000
	// maxRequest is the largest object that a request can carry, in bytes.
	maxRequest = 3 * 1024 * 1024
	// mostExpensive is how many rules are named when a schema's rules cost too
	// much together.
	mostExpensive = 4
)

// size is the greatest number of characters, items or entries of a value.
func (n *node) size() int64 { return maxSize(n.schema) }

func maxSize(s *schema.Schema) int64 {
	p := s.Props
	switch {
	case s.IntOrString && p != nil && p.MaxLength != nil:
		return longest(*p.MaxLength)
	case s.IntOrString, p == nil && s.Type == "string":
		return maxRequest - 2
	case p == nil:
		return 0
	}
	switch s.Type {
	case "array":
		if p.MaxItems != nil {
			return max(*p.MaxItems, 0)
		}
		if s.Items != nil {
			return (maxRequest - 2) / (minBytes(s.Items) + 1)
		}
	case "object":
		if s.Additional == nil {
			break
		}
		if p.MaxProperties != nil {
			return max(*p.MaxProperties, 0)
		}
		return (maxRequest - 2) / (minBytes(s.Additional) + 6) // "":, and a comma
	case "string":
		return maxLength(s)
	}
	return 0 // objects and numbers have no size
}

// longest is how many bytes so many characters can take.
func longest(characters int64) int64 {
	if characters = max(characters, 0); characters > math.MaxInt64/4 {
		return math.MaxInt64
	}
	return 4 * characters
}

func maxLength(s *schema.Schema) int64 {
	p := s.Props
	switch p.Format {
	case "duration", "date-time":
		return 32
	case "date":
		return 12
	}
	if p.Format == "byte" && p.MaxLength != nil {
		return max(*p.MaxLength, 0)
	}
	if p.MaxLength != nil {
		return longest(*p.MaxLength)
	}
	if len(p.Enum) > 0 {
		most := 0
		for i := range p.Enum {
			most = max(most, len(p.Enum[i].Raw)-2)
		}
		return int64(most)
	}
	return maxRequest - 2
}

// minBytes is the least room that a value takes in JSON.
func minBytes(s *schema.Schema) int64 {
	if s.IntOrString {
		return 1
	}
	switch s.Type {
	case "string":
		switch {
		case s.Props == nil:
		case s.Props.Format == "date":
			return 12
		case s.Props.Format == "date-time":
			return 21
		case s.Props.Format == "duration":
			return 3
		}
		return 2
	case "boolean":
		return 4
	case "object":
		total := int64(2)
		if s.Props != nil {
			for _, name := range s.Props.Required {
				if p := s.Properties[name]; p != nil && p.Default == nil {
					total += int64(len(name)) + 4 + minBytes(p)
				}
			}
		}
		return total
	case "array":
		return 2
	}
	return 1
}

// sizes estimates for CEL how large the parts of self and oldSelf can be. The
// first step of a path is the variable, or the result that a list is; what comes
// of a result counts as nothing.
func (n *node) sizes(element checker.AstNode) *checker.SizeEstimate {
	path := element.Path()
	if len(path) == 0 {
		return nil
	}
	for _, step := range path[1:] {
		switch step {
		case "@items", "@values":
			n = n.elem
		case "@keys":
			if n.typ.Kind() != types.MapKind {
				return nil
			}
			return &checker.SizeEstimate{} // keys have no limits that a schema could set
		default:
			f := n.fields[step]
			if f == nil {
				return nil
			}
			n = f.node
		}
		if n == nil {
			return nil
		}
	}
	return &checker.SizeEstimate{Max: uint64(n.size())}
}

// cost estimates an expression's worst case; it fails where CEL knows no bound.
func cost(e *cel.Env, p *program, n *node) (uint64, error) {
	estimate, err := e.EstimateCost(p.ast, library.Sizes(n.sizes), checker.PresenceTestHasCost(false))
	return estimate.Max, err
}

// times multiplies and stays at the largest number.
func times(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

// unbounded is a number of values that nothing but the request's size bounds.
const unbounded = 0

// below is how many values there can be in a list or map of which there can be
// so many.
func below(often uint64, s *schema.Schema) uint64 {
	if often == unbounded || s.Props == nil {
		return unbounded
	}
	limit := s.Props.MaxItems
	if s.Type == "object" {
		limit = s.Props.MaxProperties
	}
	if limit == nil {
		return unbounded
	}
	return max(times(often, uint64(max(*limit, 0))), 1)
}

// expense is what an expression may cost in all.
type expense struct {
	path *field.Path
	cost uint64
}

// spend adds an expression's cost to the total, and refuses it alone where it is
// too much.
func (c *checkerState) spend(path *field.Path, what string, perCall, often uint64) {
	total := times(perCall, often)
	if total > ruleLimit {
		c.add(field.Forbidden(path, "estimated "+what+" cost exceeds budget by factor of "+factor(total, ruleLimit)+advice))
	}
	if c.total > math.MaxUint64-total {
		c.total = math.MaxUint64
	} else {
		c.total += total
	}
	if total > schemaLimit/100 {
		c.expenses = append(c.expenses, expense{path, total})
	}
}

const advice = " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"

func factor(cost, limit uint64) string {
	f := float64(cost) / float64(limit)
	if f > 100 {
		return "more than 100x"
	}
	if f < 1.5 {
		return fmt.Sprintf("%fx", f)
	}
	return fmt.Sprintf("%.1fx", f)
}

// settle refuses a schema whose rules cost too much together.
func (c *checkerState) settle(root *field.Path) {
	if c.total <= schemaLimit {
		return
	}
	slices.SortStableFunc(c.expenses, func(a, b expense) int {
		switch {
		case a.cost > b.cost:
			return -1
		case a.cost < b.cost:
			return 1
		}
		return 0
	})
	for _, e := range c.expenses[:min(len(c.expenses), mostExpensive)] {
		c.add(field.Forbidden(e.path, "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"))
	}
	c.add(field.Forbidden(root, "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of "+factor(c.total, schemaLimit)+advice))
}
