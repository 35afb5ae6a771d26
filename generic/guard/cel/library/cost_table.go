package library

import (
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
)

// costs are the cost functions by overload. Other overloads cost 1, or cel-go estimates them.
var costs = costTable()

func costTable() map[string]cost {
	t := map[string]cost{}
	add := func(c cost, overloads ...string) {
		for _, o := range overloads {
			t[o] = c
		}
	}
	add(authorizes, "pathcheck_check", "resourcecheck_check")
	add(parsesSelector, "resourcecheck_fieldSelector", "resourcecheck_labelSelector")
	for _, item := range []string{"int", "uint", "double", "bool", "string", "bytes", "duration", "timestamp"} {
		add(comparesItems, "list_"+item+"_is_sorted_bool", "list_"+item+"_min_self", "list_"+item+"_max_self",
			"list_"+item+"_sum_self")
	}
	add(comparesItems, "list_a_index_of_int", "list_a_last_index_of_int")
	add(reads, "string_index_of_string", "string_index_of_string_int", "string_last_index_of_string",
		"string_last_index_of_string_int",
		"string_to_quantity", "is_quantity_string", "string_to_ip", "is_ip_string", "string_to_cidr", "is_cidr_string",
		"string_to_semver", "string_bool_to_semver", "is_semver_string", "is_semver_string_bool")
	add(readsTwice, "ip_is_canonical")
	add(rewrites, "string_to_url", "string_lower_ascii", "string_upper_ascii", "string_trim", "string_substring_int",
		"string_substring_int_int",
		"string_jsonpatch_escapeKey_string")
	add(replaces, "string_replace_string_string", "string_replace_string_string_int")
	add(splits, "string_split_string", "string_split_string_int")
	add(joins, "list_join", "list_join_string")
	add(searches, "string_find_string", "string_find_all_string", "string_find_all_string_int")
	add(validates, "format-validate")
	add(containsAddress(false, false), "cidr_contains_ip_ip")
	add(containsAddress(true, false), "cidr_contains_ip_string")
	add(containsAddress(false, true), "cidr_contains_cidr_cidr")
	add(containsAddress(true, true), "cidr_contains_cidr_string")
	return t
}

func call(c checker.CostEstimate) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: c}
}

func resulting(c checker.CostEstimate, min, max uint64) *checker.CallEstimate {
	return &checker.CallEstimate{CostEstimate: c, ResultSize: &checker.SizeEstimate{Min: min, Max: max}}
}

func constant([]operandSize) *checker.CallEstimate { return call(checker.FixedCostEstimate(1)) }

func authorizes([]operandSize) *checker.CallEstimate {
	return call(checker.FixedCostEstimate(authorizationCost))
}

// parsesSelector is the cost of parsing a selector: cel-go's cost of creating a list, and an object for each
// requirement, which has at least two characters.
func parsesSelector(o []operandSize) *checker.CallEstimate {
	requirements := o[1].MultiplyByCostFactor(0.5).Multiply(checker.FixedCostEstimate(common.StructCreateBaseCost +
		common.ListCreateBaseCost))
	return call(traversal(o[1].SizeEstimate).Add(requirements).Add(checker.FixedCostEstimate(common.ListCreateBaseCost)))
}

// reads is the cost of one traversal of the first operand.
func reads(o []operandSize) *checker.CallEstimate { return call(traversal(o[0].SizeEstimate)) }

func readsTwice(o []operandSize) *checker.CallEstimate { return call(twoTraversals(o[0].SizeEstimate)) }

func twoTraversals(s checker.SizeEstimate) checker.CostEstimate {
	return s.MultiplyByCostFactor(2 * common.StringTraversalCostFactor)
}

// equality returns the cost of == for two opaque values of a type. For != cel-go estimates it, without a limit
// if the values have no size.
func equality(t *types.Type) cost {
	switch t.TypeName() {
	case urlType.TypeName():
		return func(o []operandSize) *checker.CallEstimate { return call(traversal(o[1].SizeEstimate)) }
	case formatType.TypeName():
		return func([]operandSize) *checker.CallEstimate {
			return call(traversal(checker.FixedSizeEstimate(formatName)))
		}
	}
	return constant
}

// rewrites is the cost of a traversal with a result that is not longer than the operand.
func rewrites(o []operandSize) *checker.CallEstimate {
	return resulting(traversal(o[0].SizeEstimate), o[0].Min, o[0].Max)
}

// comparesItems is the cost of comparing all items of a list, including the bytes of strings.
func comparesItems(o []operandSize) *checker.CallEstimate {
	each := checker.FixedCostEstimate(1)
	if o[0].texts {
		each = each.Add(traversal(o[0].item))
	}
	return call(o[0].MultiplyByCost(each))
}

// replaces is the cost of replacing the second operand by the third in the first. An empty second operand
// matches between all characters.
func replaces(o []operandSize) *checker.CallEstimate {
	text, old, replacement := o[0], o[1], o[2]
	places := text.SizeEstimate
	longest := text.SizeEstimate.Add(places.Add(checker.FixedSizeEstimate(1)).Multiply(replacement.SizeEstimate))
	if old.Min > 0 {
		longest = checker.FixedSizeEstimate(text.Max / old.Min).Multiply(
			replacement.SizeEstimate).Add(checker.FixedSizeEstimate(text.Max % old.Min))
	}
	return resulting(twoTraversals(text.SizeEstimate), 0, max(text.Max, longest.Max))
}

// splits is the cost of a traversal with a list as the result: of all characters in the worst case.
func splits(o []operandSize) *checker.CallEstimate {
	most := o[0].Max
	if len(o) > 2 && o[2].limit != nil {
		most = min(most, *o[2].limit)
	}
	return resulting(twoTraversals(o[0].SizeEstimate), 0, most)
}

func joins(o []operandSize) *checker.CallEstimate {
	total := o[0].Multiply(o[0].item)
	if len(o) > 1 {
		gaps := checker.SizeEstimate{Min: max(o[0].Min, 1) - 1, Max: max(o[0].Max, 1) - 1}
		total = total.Add(gaps.Multiply(o[1].SizeEstimate))
	}
	return resulting(traversal(total), total.Min, total.Max)
}

// pattern is the cost of matching text with a regular expression.
func pattern(text, pattern checker.SizeEstimate) checker.CostEstimate {
	return traversal(text).Multiply(pattern.MultiplyByCostFactor(common.RegexStringLengthCostFactor))
}

// searches is the cost of finding matches. An empty text can have one as well.
func searches(o []operandSize) *checker.CallEstimate {
	text := o[0].Add(checker.FixedSizeEstimate(1))
	return resulting(pattern(text, o[1].SizeEstimate), 0, o[0].Max)
}

func validates(o []operandSize) *checker.CallEstimate {
	return call(pattern(o[1].SizeEstimate, checker.FixedSizeEstimate(formatPattern)))
}

// containsAddress returns the cost of comparing addresses byte by byte. A string is parsed in addition; for a
// range the prefixes are masked and their lengths compared.
func containsAddress(text, cidr bool) cost {
	return func(o []operandSize) *checker.CallEstimate {
		address := traversal(checker.FixedSizeEstimate(addressBytes))
		c := traversal(checker.FixedSizeEstimate(2 * addressBytes))
		if cidr {
			c = c.Add(address).Add(checker.FixedCostEstimate(1))
		}
		if text {
			c = c.Add(traversal(o[1].SizeEstimate))
		}
		return call(c)
	}
}
