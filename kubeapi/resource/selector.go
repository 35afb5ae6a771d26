package resource

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	shared "triplane.dev/generic/guard/cel"
	"triplane.dev/generic/guard/cel/library"
)

const (
	deviceType = "kubernetes.DRADevice"
	// maxSelectorCost bounds the estimated cost of a selector.
	maxSelectorCost = 1000000
)

// deviceFields are what selectors see of a device: attributes and capacities by
// domain and name.
func deviceFields() map[string]*types.Type {
	byName := func(t *types.Type) *types.Type {
		return types.NewMapType(types.StringType, types.NewMapType(types.StringType, t))
	}
	return map[string]*types.Type{
		"driver":                   types.StringType,
		"allowMultipleAllocations": types.BoolType,
		"attributes":               byName(types.AnyType),
		"capacity":                 byName(library.QuantityType),
	}
}

type deviceProvider struct {
	types.Provider
	fields map[string]*types.Type
}

// FindStructType implements types.Provider.
func (p *deviceProvider) FindStructType(name string) (*types.Type, bool) {
	if name == deviceType {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldType implements types.Provider.
func (p *deviceProvider) FindStructFieldType(name, f string) (*types.FieldType, bool) {
	if name != deviceType {
		return p.Provider.FindStructFieldType(name, f)
	}
	t, ok := p.fields[f]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: t}, true
}

// selectorEnv is the environment of all selectors, made on first use.
var selectorEnv = sync.OnceValues(func() (*cel.Env, error) {
	base, err := shared.Base()
	if err != nil {
		return nil, err
	}
	return base.Extend(
		cel.CustomTypeProvider(&deviceProvider{base.CELTypeProvider(), deviceFields()}),
		ext.Bindings(ext.BindingsVersion(0)),
		cel.Variable("device", types.NewObjectType(deviceType)),
	)
})

// deviceSizes gives CEL the sizes that the parts of a device can have.
type deviceSizes struct{}

// EstimateSize implements checker.CostEstimator.
func (deviceSizes) EstimateSize(e checker.AstNode) *checker.SizeEstimate {
	path := e.Path()
	if len(path) == 0 || path[0] != "device" {
		return nil
	}
	switch {
	case len(path) == 2 && path[1] == "driver":
		return &checker.SizeEstimate{Max: maxDriver}
	case len(path) == 2 || len(path) == 3 && path[2] == "@values":
		return &checker.SizeEstimate{Max: resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice}
	}
	return &checker.SizeEstimate{Max: resourcev1.DeviceAttributeMaxValueLength}
}

// EstimateCallCost implements checker.CostEstimator.
func (deviceSizes) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}

// validateSelector validates the expression of a selector.
func validateSelector(source string, path *field.Path) *field.Error {
	cost, err := estimateExpression(source, path, "bool or the unknown type", func(t *types.Type) bool {
		return t.IsExactType(types.BoolType) || t.IsExactType(types.AnyType) || t.IsExactType(types.DynType)
	})
	if err == nil && cost > maxSelectorCost {
		err = tooComplex(path)
	}
	return err
}

func tooComplex(path *field.Path) *field.Error {
	return field.Forbidden(path, "too complex, exceeds cost limit")
}

// estimateExpression compiles an expression about a device, and returns its greatest cost. of describes the types that
// fits accepts for its value.
func estimateExpression(source string, path *field.Path, of string,
	fits func(*types.Type) bool) (uint64, *field.Error) {
	env, err := selectorEnv()
	if err != nil {
		return 0, field.InternalError(path, err)
	}
	ast, err := shared.Compile(env, source)
	if err != nil {
		return 0, field.Invalid(path, source, err.Error())
	}
	if t := ast.OutputType(); !fits(t) {
		return 0, field.Invalid(path, source, "must evaluate to "+of+", not "+t.String())
	}
	if _, err := shared.NewProgram(env, ast); err != nil {
		return 0, field.Invalid(path, source, "program instantiation failed: "+err.Error())
	}
	cost, err := env.EstimateCost(ast, deviceSizes{}, checker.PresenceTestHasCost(false))
	if err != nil {
		return 0, field.InternalError(path, err)
	}
	return cost.Max, nil
}
